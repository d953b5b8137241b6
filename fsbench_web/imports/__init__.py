"""Uploads: read, planned, previewed, corrected, stored."""
