"""What the page of one run says of the quality of its numbers. No HTTP here."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsbench_web.core import numbers
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import (
    FLAGS,
    RULES,
    Flag,
    ordered,
)
from fsbench_web.figures.heatmap import size_name
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs import probes
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.cells import Cell
from fsbench_web.studies.scores.measurements import Measurement
from fsbench_web.studies.scores.quality import (
    NOTED,
    PROBE,
    STATED,
    STEADY_STATE,
    boundary_of,
    flags_of_run,
)


@dataclass(frozen=True)
class FlaggedTest:
    """How many numbers of a test carry a flag, and where the first is in the raw output."""

    test: str
    count: int
    artefact_id: int | None
    line: int | None


@dataclass
class FlagLine:
    """One flag of a run: of how many of its numbers, by test. ``count`` None: of the whole run."""

    flag: Flag
    count: int | None = None
    tests: list[FlaggedTest] = field(default_factory=list)


@dataclass(frozen=True)
class RunQuality:
    """``lines`` are flags, ``boundaries`` and ``limits`` sentences. ``is_judged``: not from before
    there were flags. ``is_outdated``: a rule has changed since.
    """

    measured: int
    is_judged: bool
    is_outdated: bool
    lines: list[FlagLine]
    boundaries: list[str]
    limits: list[str]

    @property
    def flags(self) -> dict[str, list[Flag]]:
        """The flags of the run's numbers by test with its load."""
        by_test: dict[str, list[Flag]] = defaultdict(list)
        for line in self.lines:
            for test in line.tests:
                by_test[test.test].append(line.flag)
        return by_test

    @property
    def flags_of_run(self) -> list[Flag]:
        """The flags of the whole run."""
        return [line.flag for line in self.lines if line.count is None]


def run_quality(
    run: Run, measured: int, numbers: Sequence[Measurement] | None = None
) -> RunQuality:
    """The flags of one run with ``measured`` numbers. Without ``numbers`` one query reads them."""
    quality = run.series.quality
    return RunQuality(
        measured,
        quality is not None,
        quality is not None and quality.get("rules", 0) < RULES,
        [*_of_run(run), *_of_cells(_flagged(run) if numbers is None else numbers)],
        _boundaries(quality),
        _limits(run, quality) if quality is not None else [],
    )


def flagged_cells(measured: Mapping[Cell, Measurement]) -> dict[str, list[Cell]]:
    """The cells of each flag, for a heat map: {what the legend says: cells}."""
    by_flag: dict[str, list[Cell]] = defaultdict(list)
    for cell, measurement in measured.items():
        for slug in measurement.flags or ():
            by_flag[slug].append(cell)
    return {
        FLAGS[slug].of_cells if slug in FLAGS else slug: by_flag[slug]
        for slug in ordered(set(by_flag))
    }


def notes(measured: Mapping[Cell, Measurement]) -> dict[Cell, str]:
    """What the hover text of each flagged cell adds."""
    return {
        cell: "; ".join(flag.of_cells for flag in measurement.flag_words)
        for cell, measurement in measured.items()
        if measurement.flags
    }


def edges(quality: Mapping[str, Any] | None, test: str) -> dict[int, tuple[int, int]]:
    """The cache boundary of a test for a heat map: {record KB: (last file KB, first beyond)}."""
    boundary = boundary_of(quality, test)
    if boundary is None:
        return {}
    return {record: (edge.cached_kb, edge.uncached_kb) for record, edge in boundary.edges.items()}


def _of_run(run: Run) -> list[FlagLine]:
    noted = map(run.conditions.get, NOTED)
    return [
        FlagLine(FLAGS[slug]) for slug in flags_of_run(run.is_contended, run.drift_percent, *noted)
    ]


def _flagged(run: Run) -> Iterator[Measurement]:
    """The numbers of a run that carry flags. One query, and one for each very large block."""
    flagged_blocks = measurements.of_run(run.pk).filter(flags__isnull=False)
    for block in measurements.read(flagged_blocks):
        has_any = np.array([bool(kind) for kind in block.kinds])
        yield from block.subset(has_any[block.flag_codes]).rows()


def _of_cells(measured: Iterable[Measurement]) -> list[FlagLine]:
    """One line a flag, one entry of it a test: how many, and the first artefact and line."""
    flagged: dict[str, dict[str, FlaggedTest]] = defaultdict(dict)
    for measurement in measured:
        test = testnames.at_load(measurement.test, measurement.load)
        for slug in measurement.flags or ():
            before = flagged[slug].get(test, FlaggedTest(test, 0, None, None))
            flagged[slug][test] = FlaggedTest(
                test,
                before.count + 1,
                _first(before.artefact_id, measurement.artefact_id),
                _first(before.line, measurement.line),
            )
    return [
        FlagLine(
            FLAGS.get(slug, Flag(slug, slug, "")),
            sum(test.count for test in flagged[slug].values()),
            sorted(flagged[slug].values(), key=lambda test: testnames.place(test.test)),
        )
        for slug in ordered(set(flagged))
    ]


def _first(value: int | None, other: int | None) -> int | None:
    return min((place for place in (value, other) if place is not None), default=None)


def _boundaries(quality: Mapping[str, Any] | None) -> list[str]:
    parts = []
    for test in sorted((quality or {}).get("boundaries") or {}, key=testnames.place):
        boundary = boundary_of(quality, test)
        if boundary is None or not boundary.edges:
            continue
        block = testnames.block_word(test)
        last = sorted({edge.cached_kb for edge in boundary.edges.values()})
        first = sorted({edge.uncached_kb for edge in boundary.edges.values()})
        where = (
            f"between files of {size_name(last[0])} and {size_name(first[0])}"
            if len(last) == 1 and len(first) == 1
            else f"between files of {size_name(last[0])} and {size_name(first[-1])}, "
            f"by {block} size"
        )
        parts.append(
            f"{testnames.label(test)}: {where}; files within it are {boundary.fall:.1f} times as "
            f"fast (seen in {len(boundary.observed_kb)} of {len(boundary.edges)} {block} sizes)."
        )
    return parts


def _limits(run: Run, quality: Mapping[str, Any]) -> list[str]:
    limit = quality.get("limit_kb_s")
    if quality.get("limit_from") == PROBE:
        device = _measured_limit(run)
    elif limit and quality.get("limit_from") == STATED:
        device = (
            f"What the device can deliver is stated with its hardware: "
            f"{numbers.with_unit(limit, 'KB/s')}."
        )
    elif limit:
        device = (
            f"The device is taken to deliver at most {numbers.with_unit(limit, 'KB/s')}: the best "
            "that was measured on this LUN with direct I/O, and a quarter more."
        )
    else:
        device = (
            "What the device can deliver is not known, so no data point was judged by it: nobody "
            "stated it with the hardware"
            + (", and no run of IOzone with direct I/O is there." if run.series.lun_id else ".")
        )
    steady = steady_words(run.conditions)
    repeats = "Outlying repeats are looked for from four repeats of a data point."
    return [device, repeats, *([steady] if steady else [])]


def _measured_limit(run: Run) -> str:
    """How numbers are judged by what the LUN did alone, and where that says nothing."""
    text = (
        "The LUN itself was measured: a number is flagged that is above 103% of the upper end of "
        "the interval of what the LUN did of the same request."
    )
    probe = probes.probe_of(run)
    points = probe.points if probe else ()
    single = sum(point.spread_percent is None for point in points)
    if not single:
        return text
    how_many = "All" if single == len(points) else f"{single} of {len(points)}"
    were = "was" if single == 1 < len(points) else "were"
    return (
        f"{text} {how_many} kinds of request {were} measured in a single burst, which has no "
        "interval. fsbench cannot say whether numbers compared with these are above the device. "
        "More seconds for the probe give each several bursts."
    )


def steady_words(conditions: Mapping[str, Any]) -> str:
    """How many tests became steady, of those that were to stop at that; "" where none was to."""
    values = conditions.get(STEADY_STATE) or {}
    attained, missed = (len(values.get(key) or ()) for key in ("attained", "missed"))
    if not attained + missed:
        return ""
    count = attained + missed
    are = "value is of a test" if count == 1 else "values are of tests"
    return (
        f"Steady state, as the tool judged it: {attained} of {count} {are} that had become steady "
        f"when {'it' if count == 1 else 'they'} ended."
    )
