"""Pages of comparisons, studies and lines over time."""
