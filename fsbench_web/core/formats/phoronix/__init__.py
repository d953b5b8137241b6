"""Results of the Phoronix Test Suite: its XML file and its exported CSV."""
