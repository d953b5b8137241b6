"""Delta tables as files: one small writer for each format, all over the same rows."""
