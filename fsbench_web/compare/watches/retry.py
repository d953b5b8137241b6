"""When what was not taken is tried again. Pure."""

from datetime import timedelta

BACK_OFF = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
)
MOST_TRIES = len(BACK_OFF) + 1


def wait_after(tries: int) -> timedelta | None:
    """How long to wait behind that many failed tries; None: give up."""
    return BACK_OFF[tries - 1] if tries < MOST_TRIES else None
