"""Which differences are more than chance, and how sure a number is, in words. Pure."""
