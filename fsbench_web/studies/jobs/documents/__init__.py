"""Jobs as YAML or JSON: read, multiplied out, written."""
