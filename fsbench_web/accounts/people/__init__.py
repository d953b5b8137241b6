"""Accounts and teams as administrators see them."""
