"""Runs of several clients: who takes part, when all begin, and what each has measured."""
