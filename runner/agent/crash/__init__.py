"""Crash points: what a file system keeps of acknowledged writes when power fails."""
