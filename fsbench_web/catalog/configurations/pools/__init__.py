"""Pools of OpenZFS: one is made of all LUNs of a stack, mounted, and destroyed again. Pure."""
