"""What a job can do besides running workloads, a feature a file: ``spec.JobOptions`` lists them."""
