"""Measured results next to those of a published paper."""
