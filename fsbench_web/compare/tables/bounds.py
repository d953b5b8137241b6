"""How much of a comparison one page, file or answer shows.

A page takes the latest studies, then the first tests that fit (``platform.limits``), and says so.
Files and the API refuse what is too much, and answer parts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Count, QuerySet

from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables.query import Facts, field_of
from fsbench_web.core import numbers
from fsbench_web.core.comparison.headlines import headline_of
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.platform import limits
from fsbench_web.platform.limits import RowLimits
from fsbench_web.studies.models import Score, Study
from fsbench_web.studies.scores.choices import count_tables
from fsbench_web.studies.scores.queries import NO_PAPERS, ONLY_PAPERS, ScoreFilter

_MOST_NAMED = 20
"""Tests of a part that its address names one by one."""


@dataclass(frozen=True)
class Part:
    """Which part of the ``rows`` of ``whole`` is shown: ``shown_rows`` of them.

    ``tests`` are all; ``categories`` and ``filesystems`` are all where some are left out, else ().
    ``is_apart``: ranked and judged among its own rows. Places of tests and rows count from 1; 0:
    none. ``rows`` counts scores before the best of each entry is chosen.
    """

    whole: ComparisonSpec
    shown_rows: int
    rows: int
    tests: tuple[str, ...]
    categories: tuple[str, ...] = ()
    filesystems: tuple[str, ...] = ()
    is_apart: bool = False
    from_test: int = 0
    next_test: int = 0
    from_row: int = 0
    next_row: int = 0
    next_categories: tuple[str, ...] = ()

    @property
    def shown_tests(self) -> int:
        return (self.next_test or len(self.tests) + 1) - self.from_test

    @property
    def last_row(self) -> int:
        return self.from_row + self.shown_rows - 1

    @property
    def fits_answer(self) -> bool:
        """Whether a file of the page's own, or the API, gives all at once."""
        return self.rows <= limits.ANSWER.rows


@dataclass(frozen=True)
class BoundedComparison:
    """The comparison that a page shows: of how many ``studies``, which ``part``; None for all."""

    spec: ComparisonSpec
    studies: int | None = None
    part: Part | None = None
    known_facts: Facts = field(default_factory=dict, compare=False, repr=False)

    @property
    def address(self) -> ComparisonSpec:
        """``spec`` in few words: a part of many tests by where it begins."""
        named = self.spec.part_tests or self.spec.tests
        if self.part is None or not self.part.from_test or len(named) <= _MOST_NAMED:
            return self.spec
        return replace(self.part.whole, from_test=self.part.from_test)

    @property
    def next_part(self) -> ComparisonSpec | None:
        """The part after this one; None after the last."""
        if self.part is None:
            return None
        start = replace(self.part.whole, from_test=self.part.from_test)
        if self.part.next_row:
            slugs = self.spec.part_categories or self.spec.categories
            return replace(start, part_categories=slugs, from_row=self.part.next_row)
        if self.part.next_categories:
            return replace(start, part_categories=self.part.next_categories)
        if self.part.next_test:
            return replace(self.part.whole, from_test=self.part.next_test)
        return None


def bounded_page(spec: ComparisonSpec) -> BoundedComparison:
    """What of ``spec`` a page shows: so many studies, and of these so many rows."""
    return by_rows(_latest_studies(spec))


def bounded_answer(spec: ComparisonSpec, room: RowLimits | None = None) -> BoundedComparison:
    """What a file or an API answer holds: all, or the asked part. Raises SpecError for too much."""
    room = limits.ANSWER if room is None else room
    if spec.from_test or spec.from_row:
        return by_rows(BoundedComparison(spec), room=room)
    limited = by_rows(BoundedComparison(spec.whole), room=room)
    if limited.part is None:
        return BoundedComparison(spec)
    if spec.is_part:
        # Of a large comparison a few tables, as they stand in it: the part is what must fit.
        narrow_spec = replace(
            spec.whole,
            tests=spec.part_tests or spec.tests,
            categories=spec.part_categories or spec.categories,
        )
        if by_rows(BoundedComparison(narrow_spec), room=room).part is None:
            return BoundedComparison(narrow_spec if limited.part.is_apart else spec)
    raise SpecError([too_many(limited.part, room)])


def too_many(part: Part, room: RowLimits) -> str:
    """A sentence for a comparison that is more than one answer holds, and what to do."""
    rows = room.single_rows if part.whole.by == "configuration" else room.rows
    tests = numbers.counted(len(part.tests), "test")
    return (
        f"This comparison has {part.rows:,} rows of {tests}, and one answer "
        f"holds {rows:,} rows and {room.tables:,} tables. Choose tests, categories or file "
        "systems, or take it in parts: from_test=1 gives the first tests, and names where the "
        "next begin."
    )


def by_rows(limited: BoundedComparison, room: RowLimits | None = None) -> BoundedComparison:
    """The first tests of ``limited`` that fit, or those from ``from_test`` on. Three queries.

    A single test is cut to categories, headline first; a single table to file systems, then rows.
    """
    room = limits.PAGE if room is None else room
    requested_spec, spec = limited.spec, limited.spec.whole
    if requested_spec.is_of_work:
        # A few tables.
        return replace(limited, spec=replace(requested_spec, from_test=0, from_row=0))
    is_single = spec.by == "configuration"
    max_rows = room.single_rows if is_single else room.rows
    competing = field_of(spec, limited.known_facts)
    contenders = len({value.slug for value in competing.values.values()})
    all_at_once = replace(limited, spec=replace(requested_spec, from_test=0, from_row=0))
    if not is_single:
        tables = count_tables(room.tables + 1)
        if tables <= room.tables and tables * contenders <= max_rows:
            return all_at_once
    scores = competing.considered.order_by()
    counts = _counts(scores, None if is_single else contenders)
    rows = sum(sum(of_test.values()) for of_test in counts.values())
    if rows <= max_rows and sum(map(len, counts.values())) <= room.tables:
        return replace(limited, spec=spec) if is_single else all_at_once
    taken, part = _of_tests(requested_spec, counts, max_rows, room.tables)
    slugs: list[str] = []
    shown_filesystems: list[str] = []
    if part.shown_rows > max_rows:
        slugs, part = _of_categories(part, counts[taken[0]], requested_spec, max_rows, room.tables)
    if part.shown_rows > max_rows:
        of_table = scores.filter(test=taken[0], category=slugs[0])
        shown_filesystems, part = _cut_table(part, of_table, requested_spec, max_rows)
    return replace(limited, spec=_narrowed_spec(part, taken, slugs, shown_filesystems), part=part)


_Counts = Mapping[str, Mapping[str, int]]
"""{test: {category: rows}}"""


def _counts(scores: QuerySet[Score], contenders: int | None) -> _Counts:
    """The rows of each table: a score each, or at most one a contender. One query."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for test, category, count in scores.values_list("test", "category").annotate(Count("pk")):
        counts[test][category] = count if contenders is None else min(count, contenders)
    return counts


def _of_tests(
    requested_spec: ComparisonSpec, counts: _Counts, max_rows: int, max_tables: int
) -> tuple[list[str], Part]:
    """As many tests as have room: those that are asked for, from ``from_test`` on, or the first."""
    spec = requested_spec.whole
    tests = sorted(counts, key=testnames.place)
    size = {test: (sum(counts[test].values()), len(counts[test]), len(test)) for test in tests}
    first = min(requested_spec.from_test, len(tests))
    wished = () if first else requested_spec.part_tests
    taken, shown_count = _first_fitting(
        tests[max(first, 1) - 1 :], size, wished, max_rows, max_tables
    )
    start = tests.index(taken[0]) + 1
    following = start + len(taken)
    rows = sum(rows for rows, _, _ in size.values())
    return taken, Part(
        *(spec, shown_count, rows, tuple(tests)),
        is_apart=spec.matched or rows > _most_compared(spec),
        from_test=start,
        next_test=following if following <= len(tests) else 0,
    )


def _of_categories(
    part: Part,
    of_test: Mapping[str, int],
    requested_spec: ComparisonSpec,
    max_rows: int,
    max_tables: int,
) -> tuple[list[str], Part]:
    """Of a single test as many categories as have room, that of its headline before all others."""
    headline = headline_of(of_test)
    slugs = sorted(of_test, key=lambda slug: (slug != headline, categories.place(slug)))
    sizes = {slug: (of_test[slug], 1, 0) for slug in slugs}
    taken, shown_count = _first_fitting(
        slugs, sizes, requested_spec.part_categories, max_rows, max_tables
    )
    wished = [slug for slug in slugs if slug in requested_spec.part_categories] or slugs
    return taken, replace(
        part,
        shown_rows=shown_count,
        categories=tuple(sorted(slugs, key=categories.place)),
        next_categories=tuple(slug for slug in wished if slug not in taken),
    )


def _most_compared(spec: ComparisonSpec) -> int:
    single = spec.by == "configuration"
    return limits.MOST_COMPARED_SINGLE if single else limits.MOST_COMPARED


def _cut_table(
    part: Part,
    of_table: QuerySet[Score],
    requested_spec: ComparisonSpec,
    max_rows: int,
) -> tuple[list[str], Part]:
    """A table that is more than a page: some of its file systems, or some of its scores."""
    named = of_table.values_list("series__configuration__filesystem")
    by_name = dict(named.annotate(Count("pk"))[: limits.MOST_LINKS + 1])
    taken: list[str] = []
    count = sum(by_name.values())
    names: tuple[str, ...] = ()
    if len(by_name) <= limits.MOST_LINKS and not requested_spec.from_test:
        names = tuple(sorted(by_name))
        sizes = {name: (by_name[name], 0, 0) for name in by_name}
        taken, count = _first_fitting(names, sizes, (), max_rows, max_rows)
    else:
        count = of_table.count()
    part = replace(part, shown_rows=count, filesystems=names, is_apart=True)
    if count <= max_rows:
        return taken, part
    start = min(max(requested_spec.from_row, 1), count)
    end = start + limits.WINDOW
    return taken, replace(
        part,
        shown_rows=min(limits.WINDOW, count - start + 1),
        from_row=start,
        next_row=end if end <= count else 0,
    )


def _narrowed_spec(
    part: Part, tests: Sequence[str], slugs: Sequence[str], filesystems: Sequence[str]
) -> ComparisonSpec:
    if not part.is_apart:
        return replace(part.whole, part_tests=tuple(tests), part_categories=tuple(slugs))
    narrow = replace(part.whole, tests=tuple(tests), from_row=part.from_row)
    narrow = replace(narrow, categories=tuple(slugs)) if slugs else narrow
    return replace(narrow, filesystems=tuple(filesystems)) if filesystems else narrow


def _first_fitting(
    names: Sequence[str],
    sizes: Mapping[str, tuple[int, int, int]],
    wished: Sequence[str],
    max_rows: int,
    max_tables: int,
) -> tuple[list[str], int]:
    """As many of the first names as fit, one at least, and their rows; only ``wished`` if any."""
    taken: list[str] = []
    rows = tables = letters = 0
    for name in [name for name in names if name in wished] if wished else names:
        more, more_tables, length = sizes[name]
        if taken and (
            rows + more > max_rows
            or tables + more_tables > max_tables
            or letters + length > limits.MOST_LETTERS
        ):
            break
        taken.append(name)
        rows, tables, letters = rows + more, tables + more_tables, letters + length
    if wished and not taken:
        return _first_fitting(names, sizes, (), max_rows, max_tables)
    return taken, rows


def _latest_studies(spec: ComparisonSpec) -> BoundedComparison:
    """``spec``, or its latest studies with scores where all are more than MOST_SCORES."""
    if spec.studies:
        return BoundedComparison(spec)
    max_scores = limits.MOST_SCORES
    score_filter = spec.score_filter.tables
    if not _has_more(score_filter, max_scores):
        return BoundedComparison(spec)
    wanted = score_filter.scores.order_by()
    newest = Study.objects.order_by("-created_at", "-pk").values_list("pk", "slug")
    taken: list[str] = []
    together = 0
    for pk, slug in list(newest[: limits.LATEST_STUDIES]):
        count = wanted.filter(series__study=pk)[: max_scores + 1].count()
        together += count
        if taken and together > max_scores:
            break
        if count:
            taken.append(slug)
    if not taken:
        return BoundedComparison(spec)
    return BoundedComparison(replace(spec, studies=tuple(taken)), Study.objects.count())


def _has_more(score_filter: ScoreFilter, max_scores: int) -> bool:
    """Whether more than ``max_scores`` pass; papers are counted apart. One or two queries."""
    papers = 0
    if score_filter.papers == NO_PAPERS:
        papers = replace(score_filter, papers=ONLY_PAPERS).scores.count()
        score_filter = replace(score_filter, papers="")
    scores = score_filter.scores.order_by().values("test")
    return scores[: max_scores + papers + 1].count() > max_scores + papers


def part_links(
    spec: ComparisonSpec, part: Part, names_study: bool = True
) -> dict[str, list[tuple[str, bool, str]]]:
    """(label, whether it is shown, query) of the parts around ``spec``, by what they differ in.

    Without ``names_study``: for the study's own page. At most MOST_LINKS of one kind.
    """

    def link(label: str, is_shown: bool, other: ComparisonSpec) -> tuple[str, bool, str]:
        other = other if names_study else replace(other, studies=())
        return label, is_shown, other.to_query()

    whole = part.whole
    tests = spec.part_tests or spec.tests
    slugs = spec.part_categories or spec.categories
    of_table = replace(whole, tests=tests, categories=slugs)
    steps = _steps(part, whole, replace(spec, from_row=0))
    links = {
        "Parts": [link(label, False, other) for label, other in steps],
        "Tests": [
            link(testnames.label(name), name in tests, replace(whole, part_tests=(name,)))
            for name in _linked_names(part.tests, part.from_test)
        ],
        "Categories": [
            link(
                categories.label(name),
                name in slugs,
                replace(whole, part_tests=tests, part_categories=(name,)),
            )
            for name in part.categories
        ],
        "File systems": [
            link(name, name in spec.filesystems, replace(of_table, filesystems=(name,)))
            for name in part.filesystems
        ],
    }
    return {title: choices for title, choices in links.items() if choices}


def _linked_names(names: Sequence[str], first: int) -> Sequence[str]:
    """All names, or as many as there is room for: from the ``first`` that is shown on."""
    if len(names) <= limits.MOST_LINKS:
        return names
    start = max(0, min(first - 1, len(names) - limits.MOST_LINKS))
    return names[start : start + limits.MOST_LINKS]


def _steps(
    part: Part, whole: ComparisonSpec, table: ComparisonSpec
) -> list[tuple[str, ComparisonSpec]]:
    """Before and next, of the scores of one table (``table``) and of many tests."""
    steps = []
    if part.from_row > 1:
        before = max(1, part.from_row - limits.WINDOW)
        steps.append((f"Scores from {before:,}", replace(table, from_row=before)))
    if part.next_row:
        steps.append((f"Scores from {part.next_row:,}", replace(table, from_row=part.next_row)))
    if len(part.tests) <= limits.MOST_LINKS:
        return steps
    count = (part.next_test or len(part.tests) + 1) - part.from_test
    if part.from_test > 1:
        before = max(1, part.from_test - count)
        steps.append((f"Tests from {before:,}", replace(whole, from_test=before)))
    if part.next_test:
        steps.append((f"Tests from {part.next_test:,}", replace(whole, from_test=part.next_test)))
    return steps
