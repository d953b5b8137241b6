"""Races: jobs that look for the best of their configurations, or for the kernel of a change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, Strict, StrictInt, StrictStr

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workloads.own_workloads import preset_of
from fsbench_web.core.numbers import duration
from fsbench_web.core.scoring.categories import MEAN, all_slugs, expected_cells
from fsbench_web.core.scoring.testnames import at_load, place
from fsbench_web.core.stats import bisecting, racing
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT
from fsbench_web.core.workloads import ParameterError, Workload
from fsbench_web.studies.jobs.features.base import ALWAYS, NEEDED, TEXT, FormField, Workloads
from fsbench_web.studies.jobs.features.guest import Guest
from fsbench_web.studies.jobs.features.repeats import Repeats
from fsbench_web.studies.jobs.parts import CLOSED, JobParts
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.runs.races import words
from fsbench_web.studies.runs.races.standing import MOST_RUNS

OVERALL = "overall"
LEAST_HOURS, MOST_HOURS = 0.05, 240.0
LEAST_MARGIN_PERCENT, MOST_MARGIN_PERCENT = 0.1, 50.0
REPEATS_ITSELF = "A race sets its own repeats: leave repeats out."

Measure = tuple[str, str]
"""(test with its load, category)."""


@dataclass(frozen=True)
class RaceSpec:
    """Find the best of the configurations within hours or a number of runs: one of both.

    To find a *change* is to halve the range of the guest's kernels with one configuration.
    """

    __pydantic_config__ = CLOSED

    find: Annotated[
        Literal["best", "change"],
        Field(description="the best of all, or the kernel at which speed changed"),
    ] = "best"
    hours: Annotated[
        Annotated[float, Strict()] | None, Field(description="of runs in all", examples=[8])
    ] = None
    runs: Annotated[StrictInt | None, Field(description="in all")] = None
    test: Annotated[
        StrictStr, Field(description="what decides, with its load; empty: the workload's main one")
    ] = ""
    category: Annotated[
        StrictStr, Field(description="of that test; empty: total_average of a matrix, else mean")
    ] = ""
    margin_percent: Annotated[float, Strict(), Field(description="less is no difference")] = (
        EQUIVALENCE_PERCENT
    )

    @property
    def is_change(self) -> bool:
        """Whether it looks for the kernel at which speed changed."""
        return self.find == "change"


class Race(Repeats):
    shown = ALWAYS
    form_fields = [
        FormField("race.find", "choose best or change", "", TEXT, RaceSpec.find, name="race_find"),
        FormField(
            *("race.hours", "say how many hours the race may take", "", NEEDED, "8"),
            name="race_hours",
        ),
        FormField("race.runs", "say how many runs the race may have in all", name="race_runs"),
        FormField("race.test", kind=TEXT, name="race_test"),
        FormField("race.category", kind=TEXT, name="race_category"),
        FormField(
            *("race.margin_percent", "say how many percent are no difference"),
            usual=f"{RaceSpec.margin_percent:g}",
            name="race_margin",
        ),
    ]
    is_checked_last = True
    parts = {"race": RaceSpec()}

    race: RaceSpec | None = Field(default=None, description="instead of repeats: find the best")

    @property
    def is_race(self) -> bool:
        return self.race is not None

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        """Whether there is something to race for, and enough to race with."""
        race = self.race
        if race is None:
            return
        assert isinstance(self, Guest)
        assert isinstance(self, JobParts)
        kernels = len(self.guest.kernels) if self.guest else 1
        contenders = len(self.configurations) * kernels
        if race.is_change:
            _check_kernels(len(self.configurations), kernels, problems)
        elif contenders < 2 and not problems.is_reported("configurations"):
            problems.add("race", "A race needs two configurations or more.")
        _check_budget(race, contenders, problems)
        if not LEAST_MARGIN_PERCENT <= race.margin_percent <= MOST_MARGIN_PERCENT:
            problems.add(
                "race",
                f"The margin of a race is {LEAST_MARGIN_PERCENT:g} to {MOST_MARGIN_PERCENT:g} "
                f"percent, not {race.margin_percent:g}.",
                "margin_percent",
            )
        if self.until is not None:
            problems.add("race", REPEATS_ITSELF)
        if self.reference is not None:
            problems.add("race", "A race has no reference: fsbench compares within its rounds.")
        if len(self.workloads) > 1:
            problems.add("race", "One measure decides a race: choose one workload.")
        for name, workload in workloads[:1]:
            _check_measure(race, name, measures(workload), problems)


def measures(workload: Workload) -> list[Measure]:
    """What each run of the workload measures, the deciding one first; empty if nobody knows."""
    expected = list(workload.expected())
    tests = list(dict.fromkeys(at_load(test, load) for test, load, _, _ in expected))
    if not tests:
        return []
    main = max((test for test in tests if _name(test) == _name(tests[0])), key=place)
    cells = expected_cells(workload.cells())
    slugs = [slug for slug, count in cells.items() if count and all(cells.values())]
    slugs = slugs or [slug for slug, count in cells.items() if count and slug != OVERALL] or [MEAN]
    # A matrix has a total average; it rests on all of it, and not on one cell.
    slugs.sort(key=lambda slug: slug != "total_average")
    return list(
        dict.fromkeys([(main, slugs[0]), *((test, slug) for test in tests for slug in slugs)])
    )


def tests_of(names: Iterable[str]) -> list[str]:
    """The tests of these presets, the main one of each first; what cannot be read has none."""
    tests: list[str] = []
    for name in names:
        try:
            preset = preset_of(name)
            tests += [test for test, _ in measures(preset.workload())] if preset else []
        except ParameterError:
            continue
    return list(dict.fromkeys(tests))


def measure_of(race: RaceSpec, workload: Workload) -> Measure:
    """The one that decides. The race has been checked."""
    possible = measures(workload)
    chosen = [
        (test, slug)
        for test, slug in possible
        if race.test in ("", test) and race.category in ("", slug)
    ]
    return chosen[0] if chosen else (race.test, race.category or MEAN)


def in_words(race: RaceSpec, workload: Workload) -> str:
    """What is asked for, of a race that has been checked."""
    within = duration(race.hours * 3600) if race.hours is not None else f"{race.runs} runs"
    prefix = "of the kernels in the order of their versions, " if race.find == "change" else ""
    return (
        f"{prefix}within {within}, or until it is known, by "
        f"{words.measure(*measure_of(race, workload))}; "
        f"less than {race.margin_percent:g}% is no difference"
    )


def _check_measure(
    race: RaceSpec, name: str, possible: Sequence[tuple[str, str]], problems: Problems
) -> None:
    """Whether the workload measures what decides; ``possible`` is empty where nobody knows what."""
    if not possible:
        if not race.test:
            problems.add(
                "race", f"Nobody knows what {name} prints: name the test that decides.", "test"
            )
        if race.category not in ("", *all_slugs()):
            problems.add(
                "race", f"{race.category} is not a category: {', '.join(all_slugs())}.", "category"
            )
    elif not any(
        race.test in ("", test) and race.category in ("", slug) for test, slug in possible
    ):
        tests = ", ".join(dict.fromkeys(test for test, _ in possible))
        slugs = ", ".join(dict.fromkeys(slug for _, slug in possible))
        problems.add(
            "race",
            f"{name} does not measure {race.test or 'anything'} by {race.category or 'any'}: "
            f"choose one of the tests {tests}, by {slugs}.",
            *(
                ["test"]
                if all(race.test not in ("", test) for test, _ in possible)
                else ["category"]
            ),
        )


def _check_kernels(configurations: int, kernels: int, problems: Problems) -> None:
    """Whether there is a range of kernels in which one configuration can have changed."""
    if kernels < 2:
        problems.add(
            "race",
            "A change is looked for among kernels: choose a guest and two kernels or more.",
            "find",
        )
    if configurations > 1:
        problems.add(
            "race",
            f"A change is looked for in one configuration, not {configurations}: choose one.",
            "find",
        )


def _check_budget(race: RaceSpec, contenders: int, problems: Problems) -> None:
    if (race.hours is None) == (race.runs is None):
        if not problems.is_reported("race"):
            problems.add("race", "Give the race a budget of hours or runs.", "hours", "runs")
    elif race.hours is not None and not LEAST_HOURS <= race.hours <= MOST_HOURS:
        problems.add(
            "race",
            f"A race takes {LEAST_HOURS:g} to {MOST_HOURS:g} hours, not {race.hours:g}.",
            "hours",
        )
    elif race.runs is not None:
        least = (bisecting if race.is_change else racing).least_runs(max(contenders, 2))
        why = "a round of all, and three of two finalists, at least"
        if race.is_change:
            why = "three rounds of the ends and of two neighbours, two for each halving, at least"
        if not least <= race.runs <= MOST_RUNS:
            problems.add(
                "race",
                f"A race of these takes {least} to {MOST_RUNS} runs ({why}), not {race.runs}.",
                "runs",
            )


def _name(test: str) -> str:
    return test.partition("@")[0]
