"""Scores -> contenders -> delta tables with verdicts -> the answer, in words. Pure."""
