"""How the installation does: gauges, metrics, chores, the log of requests."""
