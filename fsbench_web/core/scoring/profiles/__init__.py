"""Work profiles: somebody's own work as parts with weights, scored like a category. Pure."""
