"""Lines over time that are looked at again, and who is told."""
