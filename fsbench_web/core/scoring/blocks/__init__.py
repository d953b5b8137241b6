"""What blocks of runs say: which of two is ahead, the best of many, where many in order changed."""
