"""Studies with their series, runs and scores."""
