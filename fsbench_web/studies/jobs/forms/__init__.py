"""The form of a new run, a part a file."""
