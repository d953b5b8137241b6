"""One run from claim to end: places, plan, record, conditions, result."""
