"""How the reference of a job scored each time: whether the machine drifted meanwhile."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fsbench_web.core.scoring.categories import CATEGORIES
from fsbench_web.core.scoring.scores import score_repeats
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.studies.models import Job, MeasurementBlock, Run, RunState
from fsbench_web.studies.scores import measurements

# The overall score, or where the matrix is too small for one, the mean of all cells.
_CATEGORIES = ("overall", "total_average")
LEAST_DRIFT_PERCENT = 5.0
"""Half of the 10% that two contenders must differ by."""


@dataclass(frozen=True)
class ReferencePoint:
    """One finished reference run. ``values`` are its scores, one a test of the drift."""

    run_id: int
    at: datetime
    values: tuple[float | None, ...]
    changes_percent: tuple[float | None, ...]

    @property
    def pairs(self) -> list[tuple[float | None, float | None]]:
        """(value, change) a test."""
        return list(zip(self.values, self.changes_percent, strict=True))


@dataclass(frozen=True)
class Drift:
    """The finished reference runs, the oldest first; changes are against the first of them."""

    category: str
    tests: tuple[str, ...]
    points: tuple[ReferencePoint, ...]

    @property
    def label(self) -> str:
        """What the values are scores of."""
        return CATEGORIES[self.category].label

    @property
    def largest(self) -> tuple[str, float] | None:
        """The largest change either way: (test, percent); None with fewer than two runs."""
        changes = [
            (test, change)
            for point in self.points[1:]
            for test, change in zip(self.tests, point.changes_percent, strict=True)
            if change is not None
        ]
        return max(changes, key=lambda pair: abs(pair[1]), default=None)


def drift_of(job: Job) -> Drift | None:
    """The drift of a job's reference, each run scored alone; None if none is finished."""
    runs = list(
        Run.objects.filter(job=job, is_reference=True, state=RunState.DONE)
        .exclude(started_at=None)
        .order_by("started_at", "id")
    )
    if not runs:
        return None
    cells: dict[int, dict[str, dict[tuple[int, int], float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    of_runs = MeasurementBlock.objects.filter(run__in=runs)
    for numbers in measurements.read(of_runs):
        columns = numbers.columns.subset(numbers.columns.is_cell)
        for test, record_kb, file_kb, value, _ in columns.rows():
            test_cells = cells[numbers.run_id][at_load(test.test, test.load)]
            test_cells[record_kb or 0, file_kb or 0] = value
    tests = tuple(dict.fromkeys(test for run in runs for test in cells[run.pk]))
    scores = {
        (run.pk, test): score_repeats([test_cells])
        for run in runs
        for test, test_cells in cells[run.pk].items()
    }
    category = next(
        (
            category
            for category in _CATEGORIES
            if scores and all(category in by_category for by_category in scores.values())
        ),
        "",
    )
    if not category:
        return None

    def value_of(run: Run, test: str) -> float | None:
        by_category = scores.get((run.pk, test))
        return by_category[category].value if by_category else None

    first = [value_of(runs[0], test) for test in tests]
    points = []
    for run in runs:
        values = [value_of(run, test) for test in tests]
        assert run.started_at is not None
        points.append(
            ReferencePoint(run.pk, run.started_at, tuple(values), _changes(values, first))
        )
    return Drift(category, tests, tuple(points))


def drift_of_runs(drift: Drift, started: Mapping[int, datetime]) -> dict[int, float]:
    """How far the reference moved around each run in percent; {} for fewer than two references."""
    if len(drift.points) < 2:
        return {}
    times = [point.at for point in drift.points]
    worst = [
        max((c for c in point.changes_percent if c is not None), key=abs, default=0.0)
        for point in drift.points
    ]
    by_run = {}
    for run_id, started_at in started.items():
        place = bisect_left(times, started_at)
        is_reference = place < len(times) and drift.points[place].run_id == run_id
        near = [place] if is_reference else [n for n in (place - 1, place) if 0 <= n < len(times)]
        by_run[run_id] = max((worst[n] for n in near), key=abs)
    return by_run


def _changes(
    values: Sequence[float | None], first: Sequence[float | None]
) -> tuple[float | None, ...]:
    return tuple(
        100 * (value - start) / start if value is not None and start else None
        for value, start in zip(values, first, strict=True)
    )
