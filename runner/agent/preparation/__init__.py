"""Programs round a benchmark: layers, pools, servers, ageing, and probes of the LUN alone."""
