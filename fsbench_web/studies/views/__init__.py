"""Pages of studies and runs: each view fetches, decides, renders."""
