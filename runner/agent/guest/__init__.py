"""A kernel of a run's own: booted for it, and the first process in it."""
