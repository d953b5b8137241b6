"""Life of runs: states, leases, queue, control, logs; and what is known of one run."""
