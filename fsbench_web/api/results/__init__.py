"""Calls about studies, delta tables, comparisons, lines over time."""
