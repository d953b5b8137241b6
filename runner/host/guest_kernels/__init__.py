"""Kernels that guests boot: packages fetched by apt, unpacked, and found in their folder."""
