"""What a system did, by its traces, as parts of a work profile: counts without file names. Pure."""
