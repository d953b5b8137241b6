"""Measured results beside those of a published paper."""
