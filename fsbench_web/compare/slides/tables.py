"""Which table an address of a slide means, of a comparison or of what a permalink keeps.

What is asked for and not there is refused with what there is: no other table takes its place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import QueryDict

from fsbench_web.compare.pictures.drawable import category_of, offer, tables
from fsbench_web.compare.pictures.sections import contenders_of
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.set_aside import FiltersSetAside, set_aside, without_set_aside
from fsbench_web.compare.selection.slide import rest_of, without
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.selection.values import short
from fsbench_web.compare.tables.delta_tables import comparison, refuse_unknown_parts
from fsbench_web.compare.tables.field import field_of
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


def compared(given: QueryDict) -> QueryDict:
    """What of the address says what is compared. Raises SpecError."""
    return rest_of(_placed(given))


def of_comparison(given: QueryDict) -> SlideTable:
    """The table of a comparison that the address says. Raises SpecError."""
    placed = _placed(given)
    spec = ComparisonSpec.from_query(rest_of(placed))
    refuse_unknown_parts(spec)
    return _of_work(spec, placed) if spec.is_of_work else _of_scores(spec, placed)


def _placed(given: QueryDict) -> QueryDict:
    """A work profile in the place of a category (``in=profile:oltp``) is what is ranked by, as on
    the page of charts, unless the comparison ranks by some work already.
    """
    chosen = given.get("in") or ""
    rest = rest_of(given)
    if not chosen.startswith(categories.PROFILE) or ComparisonSpec.from_query(rest).is_of_work:
        return given
    placed = without(given, ("of", "in"))
    placed["profile"] = chosen.removeprefix(categories.PROFILE)
    return placed


def of_tables(found: Sequence[DeltaTable], given: QueryDict) -> SlideTable:
    """One of ``found``, the first where the address says none. Raises SpecError."""
    if not found:
        raise SpecError([NOTHING])
    by_test = _by_test(found)
    test = asked(given.get("of"), list(by_test), "test")
    known = by_test[test]
    category = asked(given.get("in"), list(known), "category", testnames.label(test))
    return SlideTable(known[category], list(by_test), list(known), contenders_of(found))


def _of_work(spec: ComparisonSpec, given: QueryDict) -> SlideTable:
    ignored, spec = set_aside(spec), profiles.decided(spec)
    found = comparison(replace(spec, sort=""))
    if not found.tables:
        raise SpecError([sentence for one in found.work for sentence in one.sentences] or [NOTHING])
    place = given.copy()
    for table in found.tables:
        if given.get("in") == table.category.partition("@")[0]:  # without its version
            place["in"] = table.category
    shown = of_tables(found.tables, place)
    whole = replace(without_set_aside(spec.whole), sort="")
    if len(found.tables) > 1:
        test, category = shown.table.test, shown.table.category
        whole = replace(whole, part_tests=(test,), part_categories=(category,))
    return replace(shown, query=whole.to_query(), set_aside=ignored)


def _of_scores(spec: ComparisonSpec, given: QueryDict) -> SlideTable:
    there = offer(spec)
    known = {
        test: [slug for slug in there.categories[test] if spec.shows(test, slug)]
        for test in there.scored
    }
    tests = [test for test, slugs in known.items() if slugs]
    if not tests:
        raise SpecError([NOTHING])
    test = asked(given.get("of"), tests, "test")
    wanted, label = given.get("in"), testnames.label(test)
    category = asked(wanted, known[test], "category", label) if wanted else ""
    category = category or category_of(PictureSpec(spec), known[test])
    found, _ = tables(PictureSpec(spec), [test], category)
    if not found:
        raise SpecError([NOTHING])
    table = max(found, key=lambda one: len(one.rows))
    among = {value.slug for value in field_of(spec).values.values()}
    alone = replace(spec.whole, tests=(test,), categories=(category,)).on_page
    return SlideTable(table, tests, known[test], among, alone.to_query())


def asked(
    wanted: str | None, known: Sequence[str], what: str, whose: str = "This comparison"
) -> str:
    """What is asked for, the first without it. Raises SpecError for what is not there."""
    if not wanted:
        return known[0]
    if wanted not in known:
        named = ", ".join(map(short, known[:MOST_NAMED]))
        more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
        raise SpecError([f'{whose} has no {what} "{short(wanted)}"; it has {named}{more}.'])
    return wanted


def _by_test(found: Iterable[DeltaTable]) -> Mapping[str, Mapping[str, DeltaTable]]:
    """{test: {category: table}}; of several units the table with most rows."""
    by_test: dict[str, dict[str, DeltaTable]] = {}
    for table in found:
        of_test = by_test.setdefault(table.test, {})
        kept = of_test.get(table.category)
        if kept is None or len(table.rows) > len(kept.rows):
            of_test[table.category] = table
    return by_test
