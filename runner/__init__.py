"""What runs on a worker's host."""
