"""What stands behind scores, for pictures: cells, loads and repeats, each with its runs.

Every function takes the keys of the series that are asked about and makes one query, however many
they are. Only finished runs count, as in scores. Values are as measured: a mean is the mean of what
is there, and what was not measured has no entry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Avg, Count, Q

from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.confidence import Interval, interval, sample_interval
from fsbench_web.core.scoring.scores import mean
from fsbench_web.studies.models import Measurement, RunState
from fsbench_web.studies.scores.score_filter import ScoreFilter

MOST_VALUES = 60_000
"""A picture of more numbers is no picture any more, and would be long in coming."""

Cell = tuple[int, int]
"""(record size KB, file size KB)"""


class TooManyValues(ValueError):
    """The picture would be made of more than MOST_VALUES numbers."""


@dataclass
class Repeats:
    """One number, as each finished run measured it, oldest run first.

    ``samples`` are the interval samples of the only run, where its tool printed them. ``flags`` are
    what is known against any of the values (scoring.quality).
    """

    run_ids: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    samples: Sequence[float] = ()
    flags: list[str] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def interval(self) -> Interval | None:
        """The 95% interval: of the repeats, or of a single run's samples; None where neither is."""
        return interval(self.values) or (sample_interval(self.samples) if self.samples else None)

    def add(self, run_id: int, value: float, flags: Iterable[str] = ()) -> None:
        self.run_ids.append(run_id)
        self.values.append(value)
        self.flags += [flag for flag in flags if flag not in self.flags]


@dataclass
class Matrix:
    """The cells of one test and series, in ``unit``."""

    series_id: int
    unit: str
    cells: dict[Cell, Repeats] = field(default_factory=dict)


def matrices(
    series_ids: Iterable[int],
    test: str,
    *,
    record_kb: int | None = None,
    file_kb: int | None = None,
) -> list[Matrix]:
    """The matrix of ``test`` (with its load) in each series that has one, in order of the keys.

    ``record_kb`` and ``file_kb`` take one row or column of it. A series measured in two units has a
    matrix in each. Raises TooManyValues.
    """
    found: dict[tuple[int, str], Matrix] = {}
    sizes: dict[str, Any] = {
        "record_size_kb__isnull": False,
        "file_size_kb__isnull": False,
        "record_size_kb__gt": 0,
        "file_size_kb__gt": 0,
    }
    if record_kb is not None:
        sizes["record_size_kb"] = record_kb
    if file_kb is not None:
        sizes["file_size_kb"] = file_kb
    for row in _measured(series_ids, test, Q(**sizes)):
        key = (row["run__series_id"], row["unit"])
        matrix = found.setdefault(key, Matrix(*key))
        cell = (row["record_size_kb"], row["file_size_kb"])
        matrix.cells.setdefault(cell, Repeats()).add(
            row["run_id"], row["value"], row["flags"] or ()
        )
    return list(found.values())


@dataclass
class LoadCurve:
    """One test of one series at several loads, in ``unit``: {load as it was named: repeats}.

    ``sizes`` are the record and file size where the measurements have any.
    """

    series_id: int
    unit: str
    sizes: tuple[int | None, int | None]
    loads: dict[str, Repeats] = field(default_factory=dict)


def load_curves(series_ids: Iterable[int], name: str) -> list[LoadCurve]:
    """The test called ``name`` (without a load) at every load it was measured at, by series.

    Raises TooManyValues.
    """
    found: dict[tuple[int, str, tuple[int | None, int | None]], LoadCurve] = {}
    rows = _rows(series_ids, Q(test=name) & ~Q(load=""), "load", "samples")
    for row in rows:
        key = (row["run__series_id"], row["unit"], (row["record_size_kb"], row["file_size_kb"]))
        curve = found.setdefault(key, LoadCurve(*key))
        repeats = curve.loads.setdefault(row["load"], Repeats())
        repeats.add(row["run_id"], row["value"], row["flags"] or ())
        # Of several runs the repeats themselves say how far they scatter.
        repeats.samples = row["samples"] or () if len(repeats.values) == 1 else ()
    return list(found.values())


@dataclass
class RepeatsOfSeries:
    """One number of every finished run of a series, in ``unit``.

    ``cells`` is how many cells each run's number is the mean of; 1 for a single measurement.
    """

    series_id: int
    unit: str
    repeats: Repeats
    cells: list[int]


def repeats(
    series_ids: Iterable[int],
    test: str,
    *,
    record_kb: int | None = None,
    file_kb: int | None = None,
) -> list[RepeatsOfSeries]:
    """What each run measured of ``test``: one cell of it, or the mean over all that it measured.

    The mean of a run's cells is its own total average (scoring.scores).
    """
    name, load = testnames.parts(test)
    wanted = Q(test=name, load=load)
    if record_kb is not None:
        wanted &= Q(record_size_kb=record_kb)
    if file_kb is not None:
        wanted &= Q(file_size_kb=file_kb)
    rows = (
        _finished(series_ids)
        .filter(wanted)
        .order_by()
        .values("run__series_id", "unit", "run_id")
        .annotate(mean=Avg("value"), cells=Count("id"))
        .order_by("run__series_id", "unit", "run_id")
    )
    found: dict[tuple[int, str], RepeatsOfSeries] = {}
    for row in rows:
        key = (row["run__series_id"], row["unit"])
        of_series = found.setdefault(key, RepeatsOfSeries(*key, Repeats(), []))
        of_series.repeats.add(row["run_id"], row["mean"])
        of_series.cells.append(row["cells"])
    return list(found.values())


def sizes_of(series_ids: Iterable[int], test: str) -> tuple[list[int], list[int]]:
    """The record sizes and the file sizes in KB at which ``test`` was measured, smallest first."""
    name, load = testnames.parts(test)
    pairs = (
        _finished(series_ids)
        .filter(test=name, load=load, record_size_kb__isnull=False, file_size_kb__isnull=False)
        .order_by()
        .values_list("record_size_kb", "file_size_kb")
        .distinct()
    )
    kept = [(record, file) for record, file in pairs if record is not None and file is not None]
    return sorted({record for record, _ in kept}), sorted({file for _, file in kept})


def _finished(series_ids: Iterable[int]) -> Any:
    return Measurement.objects.filter(run__series_id__in=list(series_ids), run__state=RunState.DONE)


def _measured(series_ids: Iterable[int], test: str, wanted: Q) -> list[dict[str, Any]]:
    name, load = testnames.parts(test)
    return _rows(series_ids, wanted & Q(test=name, load=load))


def _rows(series_ids: Iterable[int], wanted: Q, *more: str) -> list[dict[str, Any]]:
    rows = list(
        _finished(series_ids)
        .filter(wanted)
        .order_by("run__series_id", "run_id", "id")
        .values(
            *("run__series_id", "run_id", "record_size_kb", "file_size_kb"),
            *("value", "unit", "flags"),
            *more,
        )[: MOST_VALUES + 1]
    )
    if len(rows) > MOST_VALUES:
        raise TooManyValues(
            f"This picture would be made of more than {MOST_VALUES:,} numbers. "
            "Choose fewer contenders."
        )
    return rows


class ScoredTest(NamedTuple):
    """A test that has scores of a category, measured or published."""

    test: str
    category: str
    origin: str


def scored_tests(asked: ScoreFilter) -> list[ScoredTest]:
    """Every test that passes, with the categories it is scored in. One query."""
    columns = ("test", "category", "origin")
    return [ScoredTest(*row) for row in asked.scores.order_by().values_list(*columns).distinct()]


CellsByTest = dict[str, dict[int, dict[int, dict[Cell, float]]]]
"""{test with its load: {series: {run: its cells to their values}}}"""

MOST_MATCHED = 300_000
"""So many numbers can be scored anew while somebody waits for a page."""


def cells_of_runs(series_ids: Iterable[int], tests: Iterable[str]) -> CellsByTest:
    """Every cell of the finished runs, oldest run first.

    Tests are named with their loads. Measurements without sizes are no cells and left out. One
    query; raises TooManyValues above MOST_MATCHED numbers.
    """
    names = {testnames.parts(test) for test in tests}
    wanted = Q(record_size_kb__isnull=False, file_size_kb__isnull=False)
    rows = list(
        Measurement.objects.filter(
            wanted,
            run__series__in=list(series_ids),
            run__state=RunState.DONE,
            test__in={name for name, _ in names},
        )
        .order_by("run_id", "id")
        .values_list(
            "test", "load", "run__series_id", "run_id", "record_size_kb", "file_size_kb", "value"
        )[: MOST_MATCHED + 1]
    )
    if len(rows) > MOST_MATCHED:
        raise TooManyValues
    found: CellsByTest = {}
    for name, load, series_id, run_id, record_kb, file_kb, value in rows:
        if (name, load) in names and record_kb is not None and file_kb is not None:
            runs = found.setdefault(testnames.at_load(name, load), {}).setdefault(series_id, {})
            runs.setdefault(run_id, {})[record_kb, file_kb] = value
    return found
