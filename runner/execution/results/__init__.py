"""What is derived of a run when it ends, in addition to its tool's numbers."""
