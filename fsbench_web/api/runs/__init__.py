"""Calls about runs, series and sweeps."""
