"""Categories, scores, deltas, significance, quality: plain data in, plain data out."""
