"""A study as a printable report, as HTML and as PDF, in the structure of the Unisys paper."""
