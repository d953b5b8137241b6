"""Pictures of a comparison beside its tables."""
