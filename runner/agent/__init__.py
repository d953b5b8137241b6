"""The part of a run that happens next to the disk: the standard library alone, no Django."""
