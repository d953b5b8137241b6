"""Exit codes: a contract (docs/client.md)."""

FINE = 0
FELL = 1  # check: something fell significantly
USAGE = 2
REFUSED = 3  # the site refuses, or answers what this version does not understand
NOT_COMPARABLE = 4  # check: there is no verdict
ENDED_BADLY = 5  # run, watch, log, retry: a run failed, was lost or cancelled
NOT_CONFIRMED = 6  # run, retry: nothing was submitted
UNREACHABLE = 7  # no answer: no network, no certificate that is trusted, another program's error
UNAUTHORISED = 8  # no token, or one that opens nothing (401)
OUT_OF_TIME = 9  # submit, watch --job: all that was begun is done; its time left the others out
INTERRUPTED = 130
