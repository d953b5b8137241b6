"""Workloads as rows, and those that users upload."""
