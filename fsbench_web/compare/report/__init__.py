"""A study as a page to print, in the structure of the Unisys paper."""
