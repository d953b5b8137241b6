"""The lines that can be looked at, and what can be shown of each."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Max, Min, Q, QuerySet, When
from django.http import Http404

from fsbench_web.compare.history.line_series import LINE, MACHINE, same_line
from fsbench_web.compare.history.profile_line import cells_in_words
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.fields import shortened
from fsbench_web.compare.selection.wording import joined
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.profiles.definition import Profile
from fsbench_web.platform import limits
from fsbench_web.studies.models import UNTRACED, RunState, Score, Series
from fsbench_web.studies.scores.renamed import names_today

DEFAULT_CATEGORY = "total_average"
MOST_LINES = 100
"""Offered of one study."""


def choices(
    series: Series, chosen_test: str = "", studies: Collection[int] = (), category: str = ""
) -> list[tuple[str, list[str]]]:
    """The tests of a line in order, each with its categories. Two queries at most.

    Of many tests the first ``limits.MOST_TESTS`` by name, and ``chosen_test``. ``category`` is
    offered too: of a work profile it may be an older version.
    """
    of_line = Series.objects.filter(same_line(series, studies)).values("pk")
    all_pairs = (
        Score.objects.filter(series__in=of_line)
        .order_by()
        .values_list("test", "category")
        .distinct()
    )
    limit = limits.MOST_TESTS * len(categories.all_slugs())
    pairs = list(all_pairs.order_by("test", "category")[: limit + 1])
    tests = list(dict.fromkeys(test for test, _ in pairs))
    if len(tests) > limits.MOST_TESTS:
        first_tests = set(tests[: limits.MOST_TESTS])
        pairs = [pair for pair in pairs if pair[0] in first_tests]
        if chosen_test not in first_tests:
            pairs += all_pairs.filter(test=chosen_test)
    by_test: dict[str, list[str]] = defaultdict(list)
    for test, kind in sorted(pairs, key=lambda pair: categories.place(pair[1])):
        by_test[test].append(kind)
    offered = [(test, by_test[test]) for test in sorted(by_test, key=testnames.place)]
    of_work = _offered_profiles(series, by_test, category, studies) if by_test else []
    return [*offered, (testnames.WORK, of_work)] if of_work else offered


def _offered_profiles(
    line: Series, own_tests: Collection[str], chosen_category: str, studies: Collection[int]
) -> list[str]:
    """The profiles, as categories, that were measured in the place of a line. Two queries.

    The latest versions and ``chosen_category``; the line's own workload measured a part of each.
    """
    latest = profiles.latest()
    older = profile_of(chosen_category)
    if older is not None and chosen_category == category_of(older) and older not in latest:
        latest = [*latest, older]
    tests = {test for profile in latest for test in profile.tests}
    pairs = _measured_tests(line, tests, studies)
    by_own = set(own_tests) | {test for test, workload in pairs if workload == line.workload_id}
    by_any = by_own | {test for test, _ in pairs}
    return [
        category_of(profile)
        for profile in latest
        if by_any.issuperset(profile.tests) and not by_own.isdisjoint(profile.tests)
    ]


def category_of(profile: Profile) -> str:
    """A profile as a category."""
    return f"{categories.PROFILE}{profile.name}"


def profile_of(category: str) -> Profile | None:
    """The profile that a category names; None for any other."""
    if not category.startswith(categories.PROFILE):
        return None
    return profiles.profile_named(category.removeprefix(categories.PROFILE))


def _why_no_profile(line: Series, category: str, studies: Collection[int]) -> str:
    """Why a profile is no line, in a sentence. Two queries."""
    profile = profile_of(category)
    if profile is None:
        name = category.removeprefix(categories.PROFILE)[:60]
        return f'There is no work profile "{name}": Lab, Work profiles, lists all that there are.'
    by_any = {test for test, _ in _measured_tests(line, profile.tests, studies)}
    missing = [part.words for part in profile.parts if part.test not in by_any]
    if missing:
        return (
            f"{profile.label} is not a line of this configuration: nothing in this place measured "
            f"{cells_in_words(missing)}."
        )
    return (
        f"{profile.label} is not a line of this workload, which measures none of its parts: "
        f"others in "
        "the same place do, and their lines have it."
    )


def _measured_tests(
    line: Series, tests: Collection[str], studies: Collection[int]
) -> list[tuple[str, int | None]]:
    """Those of ``tests`` measured in the place of a line, with their workloads. One query."""
    series = Series.objects.filter(same_line(line, studies, any_workload=True))
    rows = Score.objects.filter(series__in=series.values("pk"), test__in=list(tests))
    return list(rows.order_by().values_list("test", "series__workload_id").distinct())


@dataclass(frozen=True)
class RequestedLine:
    """A test and a category of a line.

    ``refusal``: why there is no such line. ``substitution``: that another category is shown.
    """

    test: str
    category: str
    refusal: str = ""
    substitution: str = ""


def requested_line(
    series: Series,
    offered: Mapping[str, Sequence[str]],
    test: str,
    category: str,
    studies: Collection[int] = (),
) -> RequestedLine:
    """What is shown of ``offered`` (``choices``) where these are asked for, "" for none."""
    if category.startswith(categories.PROFILE):
        return _requested_work_line(series, offered, test, category, studies)
    if test and test not in offered:
        test = next((name for name in names_today({test}).get(test, ()) if name in offered), test)
    if test and test not in offered:
        return RequestedLine(test, category, _no_test(test, offered))
    test = test or next(iter(offered), "")
    of_test = offered.get(test, ())
    chosen = category if category in of_test else ""
    if not chosen:
        chosen = DEFAULT_CATEGORY if DEFAULT_CATEGORY in of_test else next(iter(of_test), "")
    if not category or chosen == category or not offered:
        return RequestedLine(test, chosen)
    name = testnames.label(test)
    if category not in categories.all_slugs():
        slugs = joined(of_test)
        return RequestedLine(
            test, category, f'{name} has no category "{shortened(category)}"; it has {slugs}.'
        )
    category_name = categories.in_sentence(categories.label(category))
    chosen_name = categories.in_sentence(categories.label(chosen))
    return RequestedLine(
        test, chosen, substitution=f"{name} has no {category_name}: shown is its {chosen_name}."
    )


def _requested_work_line(
    series: Series,
    offered: Mapping[str, Sequence[str]],
    test: str,
    category: str,
    studies: Collection[int],
) -> RequestedLine:
    """The latest version of a profile where none is named."""
    profile = profile_of(category)
    work_category = category_of(profile) if profile else category
    if test not in ("", testnames.WORK):
        name = testnames.label(test)
        refusal = (
            f"{profiles.label_of(work_category)} is not a category of {name}: it is of test=work."
        )
        return RequestedLine(test, category, refusal)
    if work_category not in offered.get(testnames.WORK, ()):
        return RequestedLine(testnames.WORK, category, _why_no_profile(series, category, studies))
    return RequestedLine(testnames.WORK, work_category)


def _no_test(test: str, offered: Collection[str]) -> str:
    if test == testnames.WORK:
        return "This line has every test of no work profile: choose a test."
    return f'This line has no test "{shortened(test)}"; it has {joined(offered) or "none yet"}.'


@dataclass(frozen=True)
class LineChoice:
    """A line that can be looked at, by one of its series."""

    series: Series
    kernels: int
    runs: int


def line_choices(studies: Collection[int], limit: int, offset: int = 0) -> list[LineChoice]:
    """The lines of studies, those over most kernels first, from ``offset`` on. Two queries."""
    rows = list(_lines(studies)[offset : offset + limit])
    series = Series.objects.select_related(
        "configuration", "workload", "hardware", "lun__worker"
    ).in_bulk([row["first"] for row in rows])
    return [LineChoice(series[row["first"]], row["kernels"], row["done"]) for row in rows]


def line_count(studies: Collection[int]) -> int:
    """How many lines the studies have, taken together. One query."""
    return _lines(studies).count()


def _lines(studies: Collection[int]) -> QuerySet[Series, dict[str, Any]]:
    return (
        Series.objects.filter(study__in=studies)
        .annotate(alone=Case(When(hardware=None, lun=None, then=F("study"))))
        .order_by()
        .values(*LINE, *MACHINE, "alone")
        .annotate(
            first=Min("pk"),
            kernels=Count("kernel", distinct=True, filter=~Q(kernel="")),
            done=Count("runs", filter=Q(runs__state=RunState.DONE, runs__tracing=UNTRACED)),
            latest=Max("runs__pk"),
        )
        .filter(done__gt=0)
        .order_by("-kernels", "-done", "first")
    )


def series_of(text: str) -> Series:
    """The series of a number in an address. Raises Http404."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        series = (
            Series.objects.select_related(
                *("study__team", "configuration", "workload", "hardware"),
                *("lun__worker", "journal_lun"),
            )
            .filter(pk=int(text))
            .first()
        )
        if series is not None:
            return series
    raise Http404("There is no such series. The page /history/ lists the lines of each study.")
