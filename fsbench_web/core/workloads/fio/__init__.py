"""What workloads of fio share: job files of one's own, data, the end at a steady state."""
