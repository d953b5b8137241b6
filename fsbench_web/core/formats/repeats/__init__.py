"""Repeats in one file: made in one place with one command, and nothing speaks against them."""
