"""How pages write runs, numbers, times and units."""
