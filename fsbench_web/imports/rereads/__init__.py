"""Files that are kept, read again with today's parsers."""
