"""Contenders ranked by a work profile, and what of it was measured."""
