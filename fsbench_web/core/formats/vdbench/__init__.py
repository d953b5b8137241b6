"""What Vdbench leaves in its output folder."""
