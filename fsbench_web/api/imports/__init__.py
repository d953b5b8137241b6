"""Calls about imports and reading files again."""
