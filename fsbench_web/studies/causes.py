"""Why a run ended as it did: a closed list, kept with the run, not read out of a sentence."""

from django.db import models


class Cause(models.TextChoices):
    """One of these for every run that did not end as done; "" for all others.

    Runs that ended before causes were kept have none, and nothing is concluded from that.
    """

    BENCHMARK = "benchmark", "the benchmark, or what it ran on, failed by itself"
    REFUSED = "refused", "a check refused it before anything was erased"
    NOT_ALLOWED = "not-allowed", "who submitted it may not any more"
    CANCELLED = "cancelled", "somebody cancelled it"
    OUT_OF_TIME = "out-of-time", "its job stops before a time, and it would not have ended by then"
    TIME_LIMIT = "time-limit", "it took longer than its job allows"
    WORKER_ERROR = "worker-error", "the worker could not go on, by a mistake in it"
    WORKER_STOPPED = "worker-stopped", "its worker was stopped"
    WORKER_GONE = "worker-gone", "its worker died, and was started again"
    SILENT = "silent", "its worker or host sent no heartbeat"
    DATABASE = "database", "the database was away for too long"
    DAEMON = "daemon", "the Docker daemon went away"
    KILLED = "killed", "it was killed from outside"


INTERRUPTED = frozenset(
    {
        Cause.WORKER_STOPPED,
        Cause.WORKER_GONE,
        Cause.SILENT,
        Cause.DATABASE,
        Cause.DAEMON,
        Cause.KILLED,
    }
)
"""What ended under a run that might have been done: its job retries it."""

DEFAULT_RUN_AGAIN, MOST_RUN_AGAIN = 1, 5
"""How often in a row a job runs again what was interrupted, unless it says otherwise."""
