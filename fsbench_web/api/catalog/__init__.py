"""Calls about hardware, workers and workloads."""
