"""Lines over time that report slowdowns to their owner."""
