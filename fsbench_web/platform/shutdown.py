"""Whether this process is about to end. What would go on for minutes (event streams) stops then,
and browsers connect to its successor; everything else is answered to its end (serve.web).
"""

import threading

_begun = threading.Event()


def begin() -> None:
    """Say that the end has begun."""
    _begun.set()


def has_begun() -> bool:
    """Whether somebody said so."""
    return _begun.is_set()
