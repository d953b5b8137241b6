"""Calls about runs, series and jobs."""
