"""What fio did in each interval, told from the reports of its --status-interval.

Each report counts from the start of the measurement, so that the difference of two neighbours is
exactly what was done between them: fio's logs of rates average within a job and leave an interval
out where nothing ended in it.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

# fio prints a report when it comes to it: a busy machine does so a moment late.
LATE_S = 0.25
LATE_SHARE = 0.2
# The first and the last interval may be shorter; a short one scatters more than the others.
LEAST_SHARE = 0.8


class Report(NamedTuple):
    """What one report says of a direction: seconds since some moment, and counts so far."""

    printed_at_s: float
    runtime_s: float
    ios: float
    kilobytes: float


def interval_rates(reports: Sequence[Report]) -> list[tuple[float, float]]:
    """(operations/s, KB/s of 1024 bytes) in each whole interval, oldest first.

    ``reports`` are those of one run in order, the final one last. Reports of the ramp time are left
    out: when it ends fio begins to count anew, and its clock runs back. So are intervals clearly
    shorter than the others, at the start and the end.
    """
    measured = list(reports[-1:])
    for before in reversed(reports[:-1]):
        after = measured[0]
        passed_s = after.printed_at_s - before.printed_at_s
        ran_s = after.runtime_s - before.runtime_s
        late_s = max(LATE_S, passed_s * LATE_SHARE)
        if ran_s < 0 or abs(passed_s - ran_s) > late_s or after.ios < before.ios:
            break
        measured.insert(0, before)
    if len(measured) < 2:
        return []
    counted = [Report(0.0, 0.0, 0.0, 0.0), *measured]
    pairs = [(a, b) for a, b in pairwise(counted) if b.runtime_s > a.runtime_s]
    usual_s = median(b.runtime_s - a.runtime_s for a, b in pairs)
    rates = []
    for before, after in pairs:
        length_s = after.runtime_s - before.runtime_s
        if length_s >= LEAST_SHARE * usual_s:
            rates.append(
                (
                    (after.ios - before.ios) / length_s,
                    (after.kilobytes - before.kilobytes) / length_s,
                )
            )
    return rates if len(rates) > 1 else []
