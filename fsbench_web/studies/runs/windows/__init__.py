"""When runs of a job may begin: after one time, and only if they end before another."""
