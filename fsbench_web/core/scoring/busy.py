"""Whether other work kept a machine busy when a run began, by its load average. Pure.

Each 5 s the average decays by exp(-5/60) (kernel/sched/loadavg.c).
"""

import math
from collections.abc import Iterable

MOST_IDLE = 0.5
"""Load of others, a processor, up to which a machine is idle enough: see docs/method.md."""
FORGOTTEN_S = 300.0
"""exp(-300 / 60) is less than 1%: what ended earlier is in the average no more."""
_DECAY_S = 60.0
_OWN_TASKS = 2
"""Of a benchmark of one process: itself, and the kernel's writing back behind it."""
_OF_ONE_PROCESS = frozenset({"iozone", "postmark", "file-creation"})


def load_of_others(load: float, earlier: Iterable[tuple[str, float]]) -> float | None:
    """The load without that of ``earlier`` (tool, seconds since its end); None if unknown."""
    left = 0.0
    for tool, since_s in earlier:
        if since_s >= FORGOTTEN_S:
            continue
        if tool not in _OF_ONE_PROCESS:
            return None
        left = max(left, _OWN_TASKS * math.exp(-max(since_s, 0.0) / _DECAY_S))
    return max(load - left, 0.0)


def is_busy(of_others: float, processors: int) -> bool:
    """Whether ``of_others`` (``load_of_others``) is more than an idle machine has."""
    return of_others / processors > MOST_IDLE
