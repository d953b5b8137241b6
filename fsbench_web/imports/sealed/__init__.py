"""Sealed results of this installation: its keys, and what goes into a sealed file."""
