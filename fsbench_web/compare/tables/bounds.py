"""How much a page compares at once when nobody said what to compare.

Without a choice of studies a comparison takes all, which with thousands of runs is more than a page
can show or a reader can read. The page then takes the latest studies, and says so. Where each
configuration stands for itself, it takes the first tests, and says so: they are a part of the same
comparison (``ComparisonSpec.is_part``), with the verdicts that they have in the whole of it, on the
page as in its files. CSV and API answer what they are asked, however much it is.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.best_scores import considered
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.studies.models import Score, Selection, Study

MOST_SCORES = 5000
LATEST = 8


MOST_ROWS = 600
"""So many rows of single configurations are shown at once."""


@dataclass(frozen=True)
class Part:
    """Which part of the ``rows`` of the comparison ``whole`` is shown: ``shown`` of them.

    ``tests`` are all there are; so are ``categories`` and ``filesystems`` where some of them are
    left out, else they are empty.

    ``is_apart``: what is shown is a comparison by itself, whose best, deltas and verdicts are among
    its rows alone. A single table too large for a page is cut so, and scores over common cells.
    """

    whole: ComparisonSpec
    shown: int
    rows: int
    tests: tuple[str, ...]
    categories: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    is_apart: bool = False


@dataclass(frozen=True)
class Bounded:
    """The comparison that a page shows.

    ``studies`` is of how many it shows a part, ``part`` which part of the rows of these it shows;
    None where it shows all.
    """

    spec: ComparisonSpec
    studies: int | None = None
    part: Part | None = None


def bounded(spec: ComparisonSpec) -> Bounded:
    """What of ``spec`` a page shows: so many studies, and of these so many rows."""
    found = _latest(spec)
    return by_rows(found) if spec.by == "configuration" else found


def by_rows(given: Bounded, filesystems: Sequence[str] = ()) -> Bounded:
    """The first tests of ``given`` that together have at most MOST_ROWS rows.

    A single test may have more, and is then cut to some of its categories, the overall score
    before all others; a single table to some file systems. Where there is more than fits, what
    ``given`` is a part of, and what ``filesystems`` names, goes before. Where all fits, all is
    shown. Three queries, or two.
    """
    spec = given.spec.whole
    scores = considered(spec).order_by()
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for test, category, count in scores.values_list("test", "category").annotate(Count("pk")):
        counts[test][category] = count
    of_tests = {test: sum(counts[test].values()) for test in counts}
    rows = sum(of_tests.values())
    if rows <= MOST_ROWS:
        return replace(given, spec=spec)
    tests = sorted(of_tests, key=testnames.place)
    taken, shown = _first(tests, of_tests, given.spec.part_tests)
    kept: list[str] = []
    few: list[str] = []
    part = Part(spec, shown, rows, tuple(tests), is_apart=spec.matched)
    if shown > MOST_ROWS:
        of_test = counts[taken[0]]
        slugs = sorted(of_test, key=lambda slug: (slug != "overall", categories.place(slug)))
        kept, shown = _first(slugs, of_test, given.spec.part_categories)
        slugs.sort(key=categories.place)
        part = replace(part, shown=shown, categories=tuple(slugs))
        if shown > MOST_ROWS:
            of_table = scores.filter(test=taken[0], category=kept[0])
            named = of_table.values_list("series__configuration__filesystem")
            by_name = dict(named.annotate(Count("pk")))
            few, shown = _first(sorted(by_name), by_name, filesystems)
            part = replace(part, shown=shown, filesystems=tuple(sorted(by_name)), is_apart=True)
    return replace(given, spec=_narrowed(part, taken, kept, few), part=part)


def _narrowed(
    part: Part, tests: Sequence[str], slugs: Sequence[str], filesystems: Sequence[str]
) -> ComparisonSpec:
    if not part.is_apart:
        return replace(part.whole, part_tests=tuple(tests), part_categories=tuple(slugs))
    narrow = replace(part.whole, tests=tuple(tests))
    narrow = replace(narrow, categories=tuple(slugs)) if slugs else narrow
    return replace(narrow, filesystems=tuple(filesystems)) if filesystems else narrow


def _first(
    names: Sequence[str], counts: Mapping[str, int], wished: Sequence[str]
) -> tuple[list[str], int]:
    """As many of the first names as together count MOST_ROWS at most, and their count.

    At least one; of those ``wished`` alone where it names any.
    """
    taken: list[str] = []
    together = 0
    for name in [name for name in names if name in wished] or names:
        if taken and together + counts[name] > MOST_ROWS:
            break
        taken.append(name)
        together += counts[name]
    return taken, together


def _latest(spec: ComparisonSpec) -> Bounded:
    """``spec`` itself unless it has no studies and more than MOST_SCORES scores.

    Then the latest studies that have scores, as many of LATEST as stay below that, and at least
    one. One query; where there is too much three more, and one for each study that is looked at.
    """
    if spec.studies:
        return Bounded(spec)
    wanted = Score.selections.filter(selection=spec.cells or Selection.ALL).order_by()
    if spec.tests:
        wanted = wanted.filter(test__in=spec.tests)
    if spec.categories:
        wanted = wanted.filter(category__in=spec.categories)
    # No further than it takes to know that it is too much; a count is had from the index alone.
    if wanted[: MOST_SCORES + 1].count() <= MOST_SCORES:
        return Bounded(spec)
    latest = list(Study.objects.order_by("-created_at", "-pk").values_list("pk", "slug")[:LATEST])
    taken: list[str] = []
    together = 0
    for pk, slug in latest:
        count = wanted.filter(series__study=pk)[: MOST_SCORES + 1].count()
        together += count
        if taken and together > MOST_SCORES:
            break
        if count:
            taken.append(slug)
    if not taken:
        return Bounded(spec)
    return Bounded(replace(spec, studies=tuple(taken)), Study.objects.count())
