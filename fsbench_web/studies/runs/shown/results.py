"""What listed runs measured: each run's own value of its first tests."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fsbench_web.core.comparison.headlines import primary_tests
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.studies.models import Run, RunState, Score
from fsbench_web.studies.runs.shown.scores import RunScore

USUAL_CATEGORIES = ("total_average", MEAN)
FIRST = 2


class RunResult(NamedTuple):
    """A run's own value of a test with its load, in ``unit``."""

    test: str
    value: float
    unit: str


def run_results(runs: Sequence[Run], most: int = FIRST) -> dict[int, list[RunResult]]:
    """The own values of finished runs, by run: at most ``most`` primary tests each. Two queries.

    File system creation, mounting and costs are shown only if nothing else was measured.
    """
    done = [run for run in runs if run.state == RunState.DONE and not run.is_extra]
    scores = Score.objects.filter(
        series__in={run.series_id for run in done}, category__in=USUAL_CATEGORIES
    ).order_by()
    tests: dict[int, set[str]] = defaultdict(set)
    for series, test in scores.values_list("series", "test"):
        tests[series].add(test)
    chosen = {series: _first(of_series, most) for series, of_series in tests.items()}
    rows = scores.filter(test__in={test for names in chosen.values() for test in names})
    by_test = {(row.series_id, row.test): row for row in rows}
    found: dict[int, list[RunResult]] = {}
    for run in done:
        named = [by_test[run.series_id, test] for test in chosen.get(run.series_id, ())]
        own = [(score, RunScore.of(run.pk, score).value) for score in named]
        found[run.pk] = [
            RunResult(score.test, value, score.unit) for score, value in own if value is not None
        ]
    return found


def _first(tests: set[str], most: int) -> list[str]:
    def rank(test: str) -> tuple[bool, tuple[int, str, int, str]]:
        name = testnames.parts(test)[0]
        return name in testnames.CREATION_TESTS or testnames.is_cost(name), testnames.place(test)

    return sorted(primary_tests(tests), key=rank)[:most]


def with_results(runs: Iterable[Run]) -> list[tuple[Run, list[RunResult]]]:
    """Each run with its ``run_results``, as lists of runs show it."""
    listed = list(runs)
    results = run_results(listed)
    return [(run, results.get(run.pk, [])) for run in listed]
