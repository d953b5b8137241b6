"""Which table an address of a slide means, of a comparison or of what a permalink keeps.

What is asked for and not there is refused with what there is: no other table takes its place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import QueryDict

from fsbench_web.compare.pictures.drawable import offer, tables
from fsbench_web.compare.pictures.sections import contenders_of
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.set_aside import FiltersSetAside, set_aside, without_set_aside
from fsbench_web.compare.selection.slide import rest_of, without_parameters
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.selection.values import shortened
from fsbench_web.compare.tables.delta_tables import comparison, refuse_unknown_parts
from fsbench_web.compare.tables.field import field_of
from fsbench_web.compare.tables.headlines import headline_of
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames

NOTHING = "No score matches this comparison: there is nothing to put on a slide."
MOST_NAMED = 12


@dataclass(frozen=True)
class SlideTable:
    """A table, what else there is to choose from, and among whom it is drawn.

    ``query`` is of the page that shows the same numbers: "" where that is no comparison.
    """

    table: DeltaTable
    tests: Sequence[str]
    categories: Sequence[str]
    among: Iterable[str]
    query: str = ""
    set_aside: FiltersSetAside | None = None


def comparison_query(query: QueryDict) -> QueryDict:
    """What of the address says what is compared. Raises SpecError."""
    return rest_of(_with_profile(query))


def of_comparison(query: QueryDict) -> SlideTable:
    """The table of a comparison that the address says. Raises SpecError."""
    placed = _with_profile(query)
    spec = ComparisonSpec.from_query(rest_of(placed))
    refuse_unknown_parts(spec)
    return _of_work(spec, placed) if spec.is_of_work else _of_scores(spec, placed)


def _with_profile(query: QueryDict) -> QueryDict:
    """A work profile in the place of a category (``in=profile:oltp``) is what is ranked by, as on
    the page of charts, unless the comparison ranks by some work already.
    """
    category = query.get("in") or ""
    rest = rest_of(query)
    if not category.startswith(categories.PROFILE) or ComparisonSpec.from_query(rest).is_of_work:
        return query
    placed = without_parameters(query, ("of", "in"))
    placed["profile"] = category.removeprefix(categories.PROFILE)
    return placed


def of_tables(delta_tables: Sequence[DeltaTable], query: QueryDict) -> SlideTable:
    """One of ``delta_tables``, the first where the address says none. Raises SpecError."""
    if not delta_tables:
        raise SpecError([NOTHING])
    by_test = _by_test(delta_tables)
    test = requested_or_first(query.get("of"), list(by_test), "test")
    by_category = by_test[test]
    is_printed = any(table.has_published_rows for table in by_category.values())
    category = _requested_or_leading(query, test, list(by_category), is_printed=is_printed)
    return SlideTable(
        by_category[category], list(by_test), list(by_category), contenders_of(delta_tables)
    )


def _of_work(spec: ComparisonSpec, query: QueryDict) -> SlideTable:
    ignored, spec = set_aside(spec), profiles.with_version(spec)
    work_comparison = comparison(replace(spec, sort=""))
    if not work_comparison.tables:
        raise SpecError(
            [sentence for work_answer in work_comparison.work for sentence in work_answer.sentences]
            or [NOTHING]
        )
    place = query.copy()
    for table in work_comparison.tables:
        if query.get("in") == table.category.partition("@")[0]:  # without its version
            place["in"] = table.category
    slide_table = of_tables(work_comparison.tables, place)
    whole = replace(without_set_aside(spec.whole), sort="")
    if len(work_comparison.tables) > 1:
        test, category = slide_table.table.test, slide_table.table.category
        whole = replace(whole, part_tests=(test,), part_categories=(category,))
    return replace(slide_table, query=whole.to_query(), set_aside=ignored)


def _of_scores(spec: ComparisonSpec, query: QueryDict) -> SlideTable:
    offered = offer(spec)
    slugs_of = {
        test: [slug for slug in offered.categories[test] if spec.shows(test, slug)]
        for test in offered.scored
    }
    tests = [test for test, slugs in slugs_of.items() if slugs]
    if not tests:
        raise SpecError([NOTHING])
    test = requested_or_first(query.get("of"), tests, "test")
    category = _requested_or_leading(
        query, test, slugs_of[test], is_printed=offered.is_printed(test)
    )
    delta_tables, _ = tables(PictureSpec(spec), [test], category)
    if not delta_tables:
        raise SpecError([NOTHING])
    table = max(delta_tables, key=lambda candidate: len(candidate.rows))
    among = {value.slug for value in field_of(spec).values.values()}
    single_spec = replace(spec.whole, tests=(test,), categories=(category,)).on_page
    return SlideTable(table, tests, slugs_of[test], among, single_spec.to_query())


def requested_or_first(
    requested: str | None, names: Sequence[str], noun: str, whose: str = "This comparison"
) -> str:
    """What is asked for, the first without it. Raises SpecError for what is not there."""
    if not requested:
        return names[0]
    if requested not in names:
        named = ", ".join(map(shortened, names[:MOST_NAMED]))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        raise SpecError([f'{whose} has no {noun} "{shortened(requested)}"; it has {named}{more}.'])
    return requested


def _requested_or_leading(
    query: QueryDict, test: str, slugs: Sequence[str], *, is_printed: bool
) -> str:
    """The category that the address says, else the one that page and report lead with.

    Raises SpecError for what is not there.
    """
    if requested := query.get("in"):
        return requested_or_first(requested, slugs, "category", testnames.label(test))
    return headline_of(slugs, is_printed=is_printed)


def _by_test(delta_tables: Iterable[DeltaTable]) -> Mapping[str, Mapping[str, DeltaTable]]:
    """{test: {category: table}}; of several units the table with most rows."""
    by_test: dict[str, dict[str, DeltaTable]] = {}
    for table in delta_tables:
        of_test = by_test.setdefault(table.test, {})
        largest = of_test.get(table.category)
        if largest is None or len(table.rows) > len(largest.rows):
            of_test[table.category] = table
    return by_test
