"""Scores to delta tables: contenders, rows, significance, findings."""
