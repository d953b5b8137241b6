"""The swap of this host, and the runs with a memory limit that does not hold for it.

Kernels without swap accounting ignore that part of a limit (cgroup-v2.rst, memory.rst).
"""

import mmap
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.host.hardware import text_of

PROC = Path("/proc")
NOT_LIMITED = (
    "This host's kernel cannot limit swap (it has no accounting of it; some want swapaccount=1 on "
    "their command line). The host has {} of it: a run with a limit of memory can swap beyond "
    "that. Turn swap off (swapoff -a) while you measure."
)


def space_bytes() -> int:
    """How much swap space is in use as such (proc(5), /proc/swaps: KiB)."""
    lines = text_of(PROC / "swaps").splitlines()[1:]
    sizes = (line.split()[2] for line in lines if len(line.split()) > 2)
    return sum(int(size) * 1024 for size in sizes if size.isdigit())


def written_bytes() -> int | None:
    """What was swapped out since the start, to disks or compressed (zswap); None: unknown."""
    text = text_of(PROC / "vmstat")
    pages = [
        int(match[1])
        for name in ("pswpout", "zswpout")
        if (match := re.search(rf"^{name} (\d+)$", text, re.M))
    ]
    return sum(pages) * mmap.PAGESIZE if pages else None


def report_limit(on_message: Callable[[Mapping[str, Any]], None]) -> None:
    """Say of a run that its memory is limited and its swap is not; nothing without any swap."""
    if space := space_bytes():
        on_message({"type": "unlimited_swap", "space_bytes": space})
