"""What IOzone prints: logs, reports, throughput mode, its spreadsheets."""
