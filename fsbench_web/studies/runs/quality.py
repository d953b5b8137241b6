"""What the page of one run says of the quality of its numbers. No HTTP here."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Min

from fsbench_web.core import numbers
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import CONTENDED, DRIFTED, FLAGS, RULES, Flag, ordered
from fsbench_web.figures.sizes import size_name
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs.numbers import Cell, RunNumber
from fsbench_web.studies.scores.drift import LEAST_DRIFT_PERCENT
from fsbench_web.studies.scores.quality import STATED, boundary_of


@dataclass(frozen=True)
class FlaggedTest:
    """How many numbers of a test carry a flag, and where the first stands in the raw output."""

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
    """``lines`` are the flags found, ``boundaries`` sentences about cache boundaries.

    ``limits`` say what the numbers were judged by, and what could not be judged and why.
    ``is_judged`` is False for runs from before there were flags, ``is_outdated`` where a rule has
    changed since.
    """

    measured: int
    is_judged: bool
    is_outdated: bool
    lines: list[FlagLine]
    boundaries: list[str]
    limits: list[str]


def run_quality(run: Run, measured: int, numbers: Sequence[RunNumber] | None = None) -> RunQuality:
    """The flags of one run with ``measured`` numbers.

    ``numbers`` are these, where somebody has read all of them already; otherwise it takes one
    query.
    """
    quality = run.series.quality
    return RunQuality(
        measured,
        quality is not None,
        quality is not None and quality.get("rules", 0) < RULES,
        [*_of_run(run), *_of_cells(_asked(run) if numbers is None else _counted(numbers))],
        _boundaries(quality),
        _limits(run, quality) if quality is not None else [],
    )


def flagged_cells(measured: Mapping[Cell, RunNumber]) -> dict[str, list[Cell]]:
    """The cells of each flag, for a heat map: {what the legend says: cells}."""
    found: dict[str, list[Cell]] = defaultdict(list)
    for cell, measurement in measured.items():
        for slug in measurement.flags or ():
            found[slug].append(cell)
    return {
        FLAGS[slug].of_cells if slug in FLAGS else slug: found[slug] for slug in ordered(set(found))
    }


def notes(measured: Mapping[Cell, RunNumber]) -> dict[Cell, str]:
    """What the hover text of each flagged cell adds."""
    return {
        cell: "; ".join(flag.of_cells for flag in measurement.flag_words)
        for cell, measurement in measured.items()
        if measurement.flags
    }


def edges(quality: Mapping[str, Any] | None, test: str) -> dict[int, tuple[int, int]]:
    """The cache boundary of a test for a heat map: {record KB: (last file KB, first beyond)}."""
    found = boundary_of(quality, test)
    if found is None:
        return {}
    return {record: (edge.cached_kb, edge.uncached_kb) for record, edge in found.edges.items()}


def _of_run(run: Run) -> list[FlagLine]:
    has_drifted = run.drift_percent is not None and abs(run.drift_percent) >= LEAST_DRIFT_PERCENT
    return [
        *(FlagLine(FLAGS[CONTENDED]) for _ in range(run.is_contended)),
        *(FlagLine(FLAGS[DRIFTED]) for _ in range(has_drifted)),
    ]


@dataclass(frozen=True)
class _Flagged:
    """How many numbers of a test and load carry these flags, and where the first stands."""

    test: str
    load: str
    flags: Any
    count: int
    artefact_id: int | None
    line: int | None


def _asked(run: Run) -> list[_Flagged]:
    rows = (
        run.measurements.filter(flags__isnull=False)
        .order_by()
        .values_list("test", "load", "flags")
        .annotate(count=Count("id"), artefact=Min("artefact_id"), first=Min("line"))
    )
    return [_Flagged(*row) for row in rows]


def _counted(numbers: Iterable[RunNumber]) -> list[_Flagged]:
    """What the database would count."""
    alike: dict[tuple[str, str, tuple[str, ...]], list[RunNumber]] = defaultdict(list)
    for one in numbers:
        if one.flags:
            alike[one.test, one.load, tuple(one.flags)].append(one)
    return [
        _Flagged(
            *key,
            len(found),
            min((one.artefact_id for one in found if one.artefact_id is not None), default=None),
            min((one.line for one in found if one.line is not None), default=None),
        )
        for key, found in alike.items()
    ]


def _of_cells(flagged: Iterable[_Flagged]) -> list[FlagLine]:
    lines: dict[str, FlagLine] = {}
    for one in flagged:
        test = FlaggedTest(
            testnames.at_load(one.test, one.load), one.count, one.artefact_id, one.line
        )
        for slug in one.flags or ():
            known = FLAGS.get(slug, Flag(slug, slug, ""))
            found = lines.setdefault(slug, FlagLine(known, 0))
            found.count = (found.count or 0) + one.count
            found.tests.append(test)
    for found in lines.values():
        found.tests = _merged(found.tests)
    return [lines[slug] for slug in ordered(set(lines))]


def _merged(tests: list[FlaggedTest]) -> list[FlaggedTest]:
    """One entry a test: cells with further flags were counted apart."""
    by_test: dict[str, list[FlaggedTest]] = defaultdict(list)
    for one in tests:
        by_test[one.test].append(one)
    return [
        FlaggedTest(
            test,
            sum(one.count for one in found),
            min((one.artefact_id for one in found if one.artefact_id is not None), default=None),
            min((one.line for one in found if one.line is not None), default=None),
        )
        for test, found in sorted(by_test.items(), key=lambda item: testnames.place(item[0]))
    ]


def _boundaries(quality: Mapping[str, Any] | None) -> list[str]:
    said = []
    for test in sorted((quality or {}).get("boundaries") or {}, key=testnames.place):
        found = boundary_of(quality, test)
        if found is None or not found.edges:
            continue
        last = sorted({edge.cached_kb for edge in found.edges.values()})
        first = sorted({edge.uncached_kb for edge in found.edges.values()})
        where = (
            f"between files of {size_name(last[0])} and {size_name(first[0])}"
            if len(last) == 1 and len(first) == 1
            else f"between files of {size_name(last[0])} and {size_name(first[-1])}, by record size"
        )
        said.append(
            f"{testnames.label(test)}: {where}; files within it are {found.fall:.1f} times as fast "
            f"(seen in {len(found.seen)} of {len(found.edges)} record sizes)."
        )
    return said


def _limits(run: Run, quality: Mapping[str, Any]) -> list[str]:
    limit = quality.get("limit_kb_s")
    if limit and quality.get("limit_from") == STATED:
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
            "What the device can deliver is not known, so no cell was judged by it: nobody stated "
            "it with the hardware"
            + (", and no run with direct I/O is there." if run.series.lun_id else ".")
        )
    repeats = "Outlying repeats are looked for from four repeats of a cell."
    return [device, repeats]
