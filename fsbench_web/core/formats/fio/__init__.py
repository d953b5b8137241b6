"""What fio prints: JSON reports, terse lines, interval samples."""
