"""What workers announce: LUNs, abilities, kernels; and what follows for jobs."""
