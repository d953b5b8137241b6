"""How pages write delta tables, findings and charts."""
