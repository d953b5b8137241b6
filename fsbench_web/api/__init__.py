"""The HTTP API /api/v1: one router an area."""
