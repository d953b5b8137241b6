"""Disks of a host: its list of LUNs, block devices, checks before erasing, locks, kernels."""
