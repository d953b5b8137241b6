"""Results on this machine: read, compared and shown without a server."""
