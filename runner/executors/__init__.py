"""Where a plan is carried out: in a container, in a local process, or not at all (tests)."""
