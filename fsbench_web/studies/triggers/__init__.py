"""Triggers order a saved job again: by a schedule, for a new kernel, by a call, by hand."""
