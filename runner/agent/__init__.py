"""The part of a run that happens next to the disk: stdlib only, one file, no Django."""
