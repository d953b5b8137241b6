"""How long processors waited for the kernel's locks during a run, where the kernel counts that.

Kept with the run's conditions::

    {"elapsed_s": 12.5, "cpus": 28, "locks": [["&sb->s_umount-W", 1200, 350000.5], ...]}

with name, contentions and microseconds waited of the locks that were waited for longest; or
``{"reason": "why it is not known"}``. Source: the kernel's Documentation/locking/lockstat.rst,
versions 0.3 and 0.4 of its table.
"""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path("/proc/lock_stat")
SWITCH = Path("/proc/sys/kernel/lock_stat")
MOST = 10
NOT_BUILT_IN = "this kernel does not count waiting for locks (it is built without CONFIG_LOCK_STAT)"
SWITCHED_OFF = "counting is switched off on this host (/proc/sys/kernel/lock_stat is 0)"
NOT_READABLE = "the worker may not read /proc/lock_stat (only root can)"
# Name, con-bounces, contentions, and of the waiting time minimum, maximum and total.
_ROW = re.compile(r"\s*(\S.*?):\s+\d+\s+(\d+)\s+[\d.]+\s+[\d.]+\s+([\d.]+)(?:\s+[\d.]+){4,7}\s*")


@dataclass(frozen=True)
class LockCounts:
    """The counts at a moment: {lock: (contentions, µs waited)}; or why there are none."""

    at_s: float
    waits: dict[str, tuple[int, float]]
    reason: str = ""


def read(table: Path = TABLE, switch: Path = SWITCH) -> LockCounts:
    """The counts as they are now."""
    now = time.monotonic()
    try:
        if switch.exists() and switch.read_text().strip() == "0":
            return LockCounts(now, {}, SWITCHED_OFF)
        return LockCounts(now, parse(table.read_text(encoding="utf-8", errors="replace")))
    except FileNotFoundError:
        return LockCounts(now, {}, NOT_BUILT_IN)
    except OSError:
        return LockCounts(now, {}, NOT_READABLE)


def parse(text: str) -> dict[str, tuple[int, float]]:
    """The table of /proc/lock_stat; lines of call sites, which have no counts, are left out."""
    classes: dict[str, tuple[int, float]] = {}
    for line in text.splitlines():
        if (row := _ROW.fullmatch(line)) is not None:
            # Two classes may have one name.
            contentions, waited_us = classes.get(row[1], (0, 0.0))
            classes[row[1]] = (contentions + int(row[2]), waited_us + float(row[3]))
    return classes


def waits_between(before: LockCounts, after: LockCounts, cpus: int | None = None) -> dict[str, Any]:
    """What was waited for from one reading to the other, as it is kept."""
    if reason := before.reason or after.reason:
        return {"reason": reason}
    grown: list[tuple[float, str, int]] = []
    for name, (contentions, waited_us) in after.waits.items():
        contentions_before, waited_before_us = before.waits.get(name, (0, 0.0))
        if contentions < contentions_before or waited_us < waited_before_us:
            return {"reason": "the counts were set back meanwhile"}
        if waited_us > waited_before_us:
            waited = round(waited_us - waited_before_us, 2)
            grown.append((-waited, name, contentions - contentions_before))
    return {
        "elapsed_s": round(after.at_s - before.at_s, 3),
        "cpus": cpus or os.cpu_count(),
        "locks": [[name, count, -waited] for waited, name, count in sorted(grown)[:MOST]],
    }
