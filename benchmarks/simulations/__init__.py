"""Simulations of the statistics: how often each is wrong, and how often it finds what is there."""
