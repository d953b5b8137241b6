"""Exit codes: a contract (docs/client.md)."""

FINE = 0
FELL = 1  # check: something fell significantly
USAGE = 2
REFUSED = 3  # the site cannot be reached, or refuses
NOT_COMPARABLE = 4  # check: there is no verdict
ENDED_BADLY = 5  # run, watch: a run failed, was lost or cancelled
NOT_CONFIRMED = 6  # run: nothing was ordered
INTERRUPTED = 130
