"""What held for one run alone, as its page shows it. No HTTP here; see
runner.execution.conditions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsbench_web.core import numbers
from fsbench_web.core.activity.promises import KEPT, REASONS
from fsbench_web.studies.models import Run

SECTOR_BYTES = 512  # the unit of the kernel's statistics, whatever the device's own sectors are


@dataclass(frozen=True)
class ConcurrentRun:
    """A run that was active meanwhile; ``shared`` is what both used: host or controller."""

    run_id: int
    lun: str
    shared: str


@dataclass(frozen=True)
class LockWait:
    """A lock of the kernel: how long it was waited for, and that of all processors' time."""

    name: str
    contentions: int
    waited_s: float
    share_percent: float


@dataclass(frozen=True)
class SwapBesideLimit:
    """Of a run whose memory was limited and its swap could not be: what the host has of it, and
    what was swapped out meanwhile, by whatever ran there; None: not known.
    """

    space_bytes: int
    written_bytes: int | None

    @property
    def has_held(self) -> bool:
        """Whether the limit held all the same: nothing was swapped out."""
        return self.written_bytes == 0

    @property
    def words(self) -> str:
        """What is known, in a sentence."""
        space = numbers.size(self.space_bytes)
        sentence = f"The kernel of its host cannot limit swap, of which there was {space}"
        if self.written_bytes is None:
            return f"{sentence}: how much was swapped out meanwhile is not known."
        if self.has_held:
            return f"{sentence}: nothing was swapped out meanwhile, so that its memory limit held."
        written = numbers.size(self.written_bytes)
        return f"{sentence}: {written} was swapped out meanwhile, by this run or others."


@dataclass(frozen=True)
class Conditions:
    """Rows are (label, value); ``raw`` are the kernel's counts. ``swap``: memory was limited
    without swap. ``no_locks``: why locks are not known.
    """

    before: list[tuple[str, str]]
    device: list[tuple[str, str]]
    raw: list[tuple[str, int, int]]
    layout: list[tuple[str, str]]
    concurrent_runs: list[ConcurrentRun]
    locks: list[LockWait]
    no_locks: str
    swap: SwapBesideLimit | None


def conditions(run: Run) -> Conditions:
    """What was noted of the run; all parts empty where nothing was."""
    noted = run.conditions
    device = noted.get("device") or {}
    return Conditions(
        before=[
            *_before_run(noted.get("before") or {}),
            *(
                ("Processors held", "; ".join(sentence))
                for sentence in [noted.get("processors")]
                if sentence
            ),
        ],
        device=[
            *_device(device.get("before") or {}, device.get("after") or {}),
            *_promise(noted.get("promise") or {}),
        ],
        raw=_raw(device.get("before") or {}, device.get("after") or {}),
        layout=_layout(noted.get("layout") or {}),
        concurrent_runs=[
            ConcurrentRun(other["run"], other["lun"], other["same"])
            for other in noted.get("others") or []
        ],
        locks=_locks(noted.get("locks") or {}),
        no_locks=(noted.get("locks") or {}).get("reason", ""),
        swap=_swap(noted.get("swap") or {}),
    )


def _promise(noted: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Syncs and flushes; nothing of a run from before they were compared."""
    if not noted:
        return []
    if noted["flushes"] is None:
        return [("Syncs", REASONS.get(noted["reason"], noted["reason"]))]
    words = f"{noted['flushes']:,}, of at least {noted['needed']:,} that its syncs need"
    kept = "; syncs kept" if noted["verdict"] == KEPT else ""
    return [("Syncs", f"{noted['syncs']:,} or more"), ("Flushes meanwhile", words + kept)]


def _before_run(noted: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if "load" in noted:
        load = ", ".join(f"{value:.2f}" for value in noted["load"])
        count = noted.get("processors")
        processors = "" if count is None else f" on {count} processor{'s' * (count != 1)}"
        rows.append(("Load average of 1, 5 and 15 minutes", load + processors))
    for key, label in (
        ("memory_free_bytes", "Memory free"),
        ("memory_available_bytes", "Memory available"),
        ("memory_total_bytes", "Memory in all"),
    ):
        if key in noted:
            rows.append((label, numbers.size(noted[key])))
    if noted.get("governors"):
        rows.append(("Processor governor", ", ".join(noted["governors"])))
    if "scheduler" in noted:
        rows.append(("I/O scheduler, read back", noted["scheduler"]))
    if "caches_dropped" in noted:
        text = "dropped" if noted["caches_dropped"] else "not dropped (its log says why)"
        rows.append(("Page cache", text))
    return rows


def _swap(noted: Mapping[str, Any]) -> SwapBesideLimit | None:
    space = noted.get("space_bytes")
    return None if space is None else SwapBesideLimit(space, noted.get("written_bytes"))


def _layout(noted: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for when, label in (("before", "Before the benchmark"), ("after", "After it")):
        layout = noted.get(when)
        if layout and layout["files"]:
            extents = layout["extents"] / layout["files"]
            rows.append(
                (
                    label,
                    f"{extents:.2f} extents a file; {layout['fragmented_files']:,} of "
                    f"{'the first ' if layout['is_cut'] else ''}{layout['files']:,} files in "
                    f"pieces, {layout['most_extents']:,} at most; {numbers.size(layout['bytes'])}",
                )
            )
    return rows


def _device(before: Mapping[str, int], after: Mapping[str, int]) -> list[tuple[str, str]]:
    """What the device did from the first command to the last one."""

    def grown(name: str) -> int | None:
        if name not in before or name not in after:
            return None
        return after[name] - before[name]

    rows = []
    for label, count, sectors in (
        ("Reads", "reads", "sectors_read"),
        ("Writes", "writes", "sectors_written"),
        ("Discards", "discards", "sectors_discarded"),
    ):
        requests, blocks = grown(count), grown(sectors)
        if requests is not None and blocks is not None:
            amount = numbers.size(blocks * SECTOR_BYTES)
            rows.append((label, f"{requests:,} request{'s' * (requests != 1)}, {amount}"))
    busy_ms = grown("busy_ms")
    if busy_ms is not None:
        rows.append(("Busy", numbers.duration(busy_ms / 1000)))
    return rows


def _raw(before: Mapping[str, int], after: Mapping[str, int]) -> list[tuple[str, int, int]]:
    return [(name, before[name], after[name]) for name in before if name in after]


def _locks(noted: Mapping[str, Any]) -> list[LockWait]:
    """Waiting as a share of the time of all processors, as table 1 of the FREENIX paper has it."""
    processor_s = (noted.get("elapsed_s") or 0) * (noted.get("cpus") or 0)
    if not processor_s:
        return []
    return [
        LockWait(name, contentions, waited_us / 1e6, waited_us / 1e4 / processor_s)
        for name, contentions, waited_us in noted.get("locks") or []
    ]
