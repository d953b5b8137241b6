"""The worker sets itself up: makes the benchmark image, or installs tools, and finds them then."""
