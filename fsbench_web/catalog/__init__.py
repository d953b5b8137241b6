"""What is measured and where: hardware, LUNs, workers, configurations, workloads."""
