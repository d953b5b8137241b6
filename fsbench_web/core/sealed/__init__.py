"""Sealed results: one signed file with raw output, tables and descriptions, and its check."""
