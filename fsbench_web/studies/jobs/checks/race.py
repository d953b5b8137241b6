"""What is wrong with a race, and which of a workload's numbers may decide it."""

from collections.abc import Iterable, Sequence

from fsbench_web.catalog.workloads.own_workloads import preset_of
from fsbench_web.core.numbers import duration
from fsbench_web.core.scoring.categories import MEAN, all_slugs, expected_cells
from fsbench_web.core.scoring.testnames import at_load, place
from fsbench_web.core.stats import bisecting, racing
from fsbench_web.core.workloads import ParameterError, Workload
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import JobSpec, RaceSpec
from fsbench_web.studies.runs.races import words
from fsbench_web.studies.runs.races.standing import MOST_RUNS

OVERALL = "overall"
LEAST_HOURS, MOST_HOURS = 0.05, 240.0
LEAST_MARGIN_PERCENT, MOST_MARGIN_PERCENT = 0.1, 50.0

Measure = tuple[str, str]
"""(test with its load, category)."""


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


def check_race(
    spec: JobSpec, workloads: Sequence[tuple[str, Workload]], problems: Problems
) -> None:
    """Whether there is something to race for, and enough to race with."""
    race = spec.race
    assert race is not None
    kernels = len(spec.guest.kernels) if spec.guest else 1
    contenders = len(spec.configurations) * kernels
    if spec.is_bisection:
        _check_kernels(spec, kernels, problems)
    elif contenders < 2 and not problems.is_reported("configurations"):
        problems.add("race", "The best is one of several: choose two configurations or more.")
    _check_budget(race, contenders, problems)
    if not LEAST_MARGIN_PERCENT <= race.margin_percent <= MOST_MARGIN_PERCENT:
        problems.add(
            "race",
            f"What is no difference is {LEAST_MARGIN_PERCENT:g} to {MOST_MARGIN_PERCENT:g} "
            f"percent, not {race.margin_percent:g}.",
            "margin_percent",
        )
    if spec.until is not None:
        problems.add("race", "A race says itself how often what is repeated: leave repeats out.")
    if spec.reference is not None:
        problems.add("race", "A race has no reference: its rounds are compared within themselves.")
    if len(spec.workloads) > 1:
        problems.add("race", "One measure decides, so that a race is of one workload: choose one.")
    for name, workload in workloads[:1]:
        _check_measure(race, name, measures(workload), problems)


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
                "race", f"{race.category} is no category: {', '.join(all_slugs())}.", "category"
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


def _check_kernels(spec: JobSpec, kernels: int, problems: Problems) -> None:
    """Whether there is a range of kernels in which one configuration can have changed."""
    if kernels < 2:
        problems.add(
            "race",
            "A change is looked for among kernels: choose a guest and two kernels or more.",
            "find",
        )
    if len(spec.configurations) > 1:
        problems.add(
            "race",
            f"A change is looked for in one configuration, not {len(spec.configurations)}: "
            "choose one.",
            "find",
        )


def _check_budget(race: RaceSpec, contenders: int, problems: Problems) -> None:
    if (race.hours is None) == (race.runs is None):
        if not problems.is_reported("race"):
            problems.add(
                "race", "Say how many hours the race may take, or how many runs.", "hours", "runs"
            )
    elif race.hours is not None and not LEAST_HOURS <= race.hours <= MOST_HOURS:
        problems.add(
            "race",
            f"A race takes {LEAST_HOURS:g} to {MOST_HOURS:g} hours, not {race.hours:g}.",
            "hours",
        )
    elif race.runs is not None:
        is_change = race.find == "change"
        least = (bisecting if is_change else racing).least_runs(max(contenders, 2))
        why = "a round of all, and three of two finalists, at least"
        if is_change:
            why = "three rounds of the ends and of two neighbours, two for each halving, at least"
        if not least <= race.runs <= MOST_RUNS:
            problems.add(
                "race",
                f"A race of these takes {least} to {MOST_RUNS} runs ({why}), not {race.runs}.",
                "runs",
            )


def _name(test: str) -> str:
    return test.partition("@")[0]
