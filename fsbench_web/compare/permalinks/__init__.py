"""Comparisons that are kept as they were: who may see them, how they are embedded."""
