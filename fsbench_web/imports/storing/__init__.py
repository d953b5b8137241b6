"""Planned runs into the database: all of them or none."""
