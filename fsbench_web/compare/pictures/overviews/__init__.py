"""Several tests in one picture."""
