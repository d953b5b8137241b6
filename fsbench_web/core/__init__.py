"""What fsbench is about without Django: numbers, units, scores, formats, workloads. Pure."""
