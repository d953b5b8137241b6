"""What devices, processors and memory did during a run, and what that comes to for its work."""
