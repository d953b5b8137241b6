"""The benchmark image: what goes into it, and the digest of that."""
