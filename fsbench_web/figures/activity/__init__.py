"""What was measured during a run, second by second and request by request."""
