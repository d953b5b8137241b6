"""How single operations are distributed: percentiles and shares."""
