"""Tables that people make: columns and their mapping, matrices, spreadsheets, long tables."""
