"""Measurements of fsbench itself, and simulations of its statistics; docs/performance.md."""
