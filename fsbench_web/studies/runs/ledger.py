"""The ledger of a LUN: every run and probe on it over time, as far as the caller may see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.fields.json import KT

from fsbench_web.catalog.models import Lun
from fsbench_web.core import numbers
from fsbench_web.core.scoring.ceilings import (
    RANDOM,
    READ,
    SEQUENTIAL,
    WRITE,
    Probe,
    differ_percent,
    read_probe,
)
from fsbench_web.core.scoring.shares import MOST_DIFFERENCE_PERCENT
from fsbench_web.core.stats.changes import Change, changes
from fsbench_web.figures import lines
from fsbench_web.studies.models import LunProbe, Run
from fsbench_web.studies.runs.shown.conditions import SECTOR_BYTES

MOST_RUNS = 20_000
"""Of one LUN, the latest: their bytes are added up."""
MOST_PROBES = 200
DRIFT_PERCENT = 5.0
_SECTORS = ("sectors_written", "sectors_read", "sectors_discarded")
KEY_FIGURES = (
    ("Sequential read", SEQUENTIAL, READ, False),
    ("Sequential write", SEQUENTIAL, WRITE, False),
    ("Random read of 4 KiB", RANDOM, READ, False),
    ("Random write of 4 KiB", RANDOM, WRITE, False),
    ("Write and flush of 4 KiB", RANDOM, WRITE, True),
)
"""What is shown of each probe, at its best depth."""


@dataclass(frozen=True)
class Totals:
    """What the runs did to the LUN in all. ``known`` of ``runs`` say so themselves: the kernel's
    counts before and after, preparation and mkfs included. ``is_cut``: there are older ones.
    """

    runs: int
    known: int
    written_bytes: int
    read_bytes: int
    discarded_bytes: int
    is_cut: bool = False

    def times(self, size_bytes: int | None) -> float | None:
        """How often the whole LUN was written; None where its size is not known."""
        return self.written_bytes / size_bytes if size_bytes else None


@dataclass(frozen=True)
class ProbeRow:
    """A probe: its key figures in operations a second and KB/s, None where it lacks one."""

    key: int
    at: datetime
    run: int | None
    state: dict[str, Any]
    figures: list[tuple[float, float] | None]
    sure: int
    points: int


def differing_figures(rows: Sequence[ProbeRow]) -> list[str]:
    """The key figures in which probes differ by so much that shares of them are unreliable."""
    labels = []
    for place, (label, *_) in enumerate(KEY_FIGURES):
        rates = [figure[0] for row in rows if (figure := row.figures[place]) is not None]
        if rates and differ_percent(rates) > MOST_DIFFERENCE_PERCENT:
            labels.append(label)
    return labels


@dataclass(frozen=True)
class Drift:
    """A key figure that changed its level between two probes."""

    label: str
    change: Change
    at: datetime

    @property
    def sentence(self) -> str:
        size = numbers.signed_percent(self.change.change_percent)
        return f"{self.label}: {size}% from {self.at:%Y-%m-%d %H:%M} on"


@dataclass(frozen=True)
class Ledger:
    """``probes`` come the latest first."""

    lun: Lun
    totals: Totals
    probes: list[ProbeRow]
    drifts: list[Drift]
    more_probes: bool = False

    @property
    def health(self) -> dict[str, Any]:
        """What smartctl said of the disk before the latest probe that has anything of it."""
        health: dict[str, Any] = next(
            (row.state["health"] for row in self.probes if "health" in row.state), {}
        )
        units = health.get("data_units_written")  # thousands of 512 bytes (NVM Express)
        return health | ({} if units is None else {"written_bytes": units * 512_000})

    @property
    def health_at(self) -> datetime | None:
        return next((row.at for row in self.probes if "health" in row.state), None)

    @property
    def temperatures(self) -> list[float]:
        """Before each probe, the oldest first, where the disk reported it."""
        readings = (
            row.state.get("temperature_c", (row.state.get("health") or {}).get("temperature_c"))
            for row in reversed(self.probes)
        )
        return [float(temperature) for temperature in readings if temperature is not None]


def runs_of(lun: Lun) -> QuerySet[Run]:
    """Those that measured on it, the latest first."""
    return Run.objects.filter(series__lun=lun, origin=Run.Origin.MEASURED).order_by("-id")


def ledger(lun: Lun) -> Ledger:
    """Four queries."""
    lun_probes = list(
        LunProbe.objects.filter(lun=lun, target="").order_by("-at", "-id")[: MOST_PROBES + 1]
    )
    visible = set(
        Run.objects.filter(made_probe__in=[lun_probe.pk for lun_probe in lun_probes]).values_list(
            "pk", flat=True
        )
    )
    read = [(lun_probe, read_probe(lun_probe.result)) for lun_probe in lun_probes[:MOST_PROBES]]
    rows = [_row(lun_probe, probe, visible) for lun_probe, probe in read]
    return Ledger(lun, totals(lun), rows, _drifts(rows), len(lun_probes) > MOST_PROBES)


def totals(lun: Lun) -> Totals:
    """What its runs did to it. Two queries, and a few numbers of each run."""
    count = runs_of(lun).count()
    names = [f"{when}_{name}" for name in _SECTORS for when in ("before", "after")]
    rows = (
        runs_of(lun)
        .annotate(
            **{
                f"{when}_{name}": KT(f"conditions__device__{when}__{name}")
                for name in _SECTORS
                for when in ("before", "after")
            }
        )
        .values_list(*names)[:MOST_RUNS]
    )
    known_count = 0
    grown = dict.fromkeys(_SECTORS, 0)
    for values in rows:
        pairs = list(zip(values[::2], values[1::2], strict=True))
        if None in pairs[0]:
            continue
        known_count += 1
        for name, (before, after) in zip(_SECTORS, pairs, strict=True):
            if before is not None and after is not None:
                # A device that was attached anew counts from zero: nothing is known of it then.
                grown[name] += max(int(after) - int(before), 0)
    written, reads, discarded = (grown[name] * SECTOR_BYTES for name in _SECTORS)
    return Totals(count, known_count, written, reads, discarded, count > MOST_RUNS)


def written_bytes(run: Run) -> int | None:
    """What one run wrote to its LUN; None where nobody counted."""
    device = run.conditions.get("device") or {}
    before, after = (
        (device.get(when) or {}).get("sectors_written") for when in ("before", "after")
    )
    if before is None or after is None or after < before:
        return None
    return int(after - before) * SECTOR_BYTES


def _row(lun_probe: LunProbe, probe: Probe, visible: set[int]) -> ProbeRow:
    figures: list[tuple[float, float] | None] = []
    for _, pattern, direction, is_flushed in KEY_FIGURES:
        points = probe.of(pattern, direction, is_flushed)
        wanted = 4096 if pattern == RANDOM else max((p.block_bytes for p in points), default=0)
        same = [point for point in points if point.block_bytes == wanted]
        best = max(same, key=lambda point: point.rate_iops, default=None)
        figures.append(None if best is None else (best.rate_iops, best.rate_kb_s))
    return ProbeRow(
        lun_probe.pk,
        lun_probe.at,
        lun_probe.run_id if lun_probe.run_id in visible else None,
        lun_probe.state,
        figures,
        sum((point.spread_percent or 100) <= 3 for point in probe.points),
        len(probe.points),
    )


def _drifts(rows: Sequence[ProbeRow]) -> list[Drift]:
    """Where key figures changed their level by DRIFT_PERCENT or more, by more than chance."""
    drifts = []
    oldest_first = rows[::-1]
    for place, (label, *_) in enumerate(KEY_FIGURES):
        measured = [row for row in oldest_first if row.figures[place] is not None]
        values = [[(row.figures[place] or (0.0, 0.0))[0]] for row in measured]
        drifts += [
            Drift(label, step, measured[step.place].at) for step in changes(values, DRIFT_PERCENT)
        ]
    return drifts


def chart(history: Ledger) -> Any:
    """The key figures over time, each in percent of its first; None below two probes."""
    oldest_first = history.probes[::-1]
    if len(oldest_first) < 2:
        return None
    drawn = []
    for place, (label, *_) in enumerate(KEY_FIGURES):
        measured = [
            (index, row, figure[0])
            for index, row in enumerate(oldest_first)
            if (figure := row.figures[place]) is not None
        ]
        if measured:
            first = measured[0][2]
            points = [
                lines.Point(
                    float(index),
                    100 * value / first,
                    note=f"{value:,.0f} operations/s",
                    link=f"/runs/{row.run}/" if row.run else "",
                )
                for index, row, value in measured
            ]
            drawn.append(lines.Line(label, points))
    return lines.curves(
        drawn,
        "% of the first",
        "Speed of the LUN itself, probe after probe",
        "Probe",
        {float(index): f"{row.at:%m-%d %H:%M}" for index, row in enumerate(oldest_first)},
        scale=lines.LINEAR,
    )
