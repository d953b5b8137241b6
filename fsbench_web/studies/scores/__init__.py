"""Measurements and scores: stored, judged, chosen, read."""
