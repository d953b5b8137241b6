"""Workloads that are fsbench's own programs, and what they share."""
