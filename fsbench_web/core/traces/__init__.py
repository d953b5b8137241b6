"""What a system did, read from its traces, as the parts of a work profile. Pure.

Kept are counts by operation and size: no names of files, and nothing of what is in them.
"""
