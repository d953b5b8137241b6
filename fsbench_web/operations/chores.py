"""Regular work is noted where it is done, so that one that has stopped is seen."""

import socket
import time
from collections.abc import Callable

from django.db import Error as DatabaseError

from fsbench_web.operations.models import Chore
from fsbench_web.platform import clock


def run_chore(name: str, work: Callable[[], object]) -> None:
    """Do the work and note that it was done; what it raises is noted and raised again."""
    began = time.monotonic()
    who = socket.gethostname()[:150]
    try:
        work()
    except DatabaseError:
        # Where nothing can be written, this cannot be either.
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:300]
        _note(name, failed_at=clock.now(), problem=problem, by=who)
        raise
    took_s = time.monotonic() - began
    _note(name, done_at=clock.now(), took_s=took_s, problem="", by=who)


def _note(name: str, **values: object) -> None:
    Chore.objects.update_or_create(name=name, defaults=values)
