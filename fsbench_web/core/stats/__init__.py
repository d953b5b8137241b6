"""Statistics of comparisons: the answer over several tests. Pure."""
