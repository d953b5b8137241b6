"""How much memory processes hold while a site is under load, and whether it grows."""

import statistics
import threading
import time
from collections.abc import Mapping
from pathlib import Path

LIMIT_MB = 400
"""Of a web process, at any moment."""
GROWS_MB_A_MINUTE = 3.0
"""More than that, in the second half of the time, is called growth: below it is what answers of
one moment hold that the next ones do not. Processes use much for the first time in their first
minutes: a measurement of five minutes or more tells that from growth.
"""


class MemoryWatch(threading.Thread):
    """Looks each second how much memory the processes hold (VmRSS, proc(5)), until ``end``."""

    def __init__(self, processes: Mapping[str, int], end: threading.Event) -> None:
        super().__init__(daemon=True)
        self._processes, self._end = processes, end
        self.samples: dict[str, list[tuple[float, float]]] = {name: [] for name in processes}

    def run(self) -> None:
        while not self._end.wait(1.0):
            for name, pid in self._processes.items():
                held = held_mb(pid)
                if held is not None:
                    self.samples[name].append((time.monotonic(), held))


def held_mb(pid: int) -> float | None:
    """What a process holds in memory, with what it shares; None when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS:")), None)


def growth_mb_a_minute(seen: list[tuple[float, float]]) -> float:
    """Of (s, MB): the slope of the least squares in the second half of the time."""
    half = seen[len(seen) // 2 :]
    if len(half) < 2:
        return 0.0
    return statistics.linear_regression(*zip(*half, strict=True)).slope * 60


def report_memory(seen: Mapping[str, list[tuple[float, float]]]) -> bool:
    """Print it; whether all stayed below the limit and none grew."""
    is_fine = True
    for name, of_process in sorted(seen.items()):
        if not of_process:
            continue
        held = [mb for _, mb in of_process]
        growth = growth_mb_a_minute(of_process)
        verdict = "ok" if max(held) < LIMIT_MB else f"NO: {LIMIT_MB} MB or more"
        if growth > GROWS_MB_A_MINUTE:
            verdict = f"{verdict}, GROWS"
        is_fine &= verdict == "ok"
        print(
            f"memory of {name}: {held[0]:.0f} MB first, {max(held):.0f} at most, {held[-1]:.0f} "
            f"last; {growth:+.1f} MB a minute in the second half  {verdict}"
        )
    return is_fine
