"""Which scores stand in one table, and in which unit. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import repeat
from typing import NamedTuple, TypeVar

from fsbench_web.core.conversion import Printed, Shown, shown_units
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.units import SUM, overall_unit
from fsbench_web.studies.scores.queries import SeriesFacts

UNIT_UNEXPLAINED = "unit_unexplained"
"""Nobody said what KB are in this row, and of other rows of its table it is known."""

_Score = TypeVar("_Score")


class TableKey(NamedTuple):
    """What the scores of one table have in common.

    ``unit`` is what they are shown in. Of a sum of rates ``summed`` is the unit of these, where it
    has to be said. ``is_unexplained``: it stands apart, because nobody knows what its unit is in
    that of others.
    """

    test: str
    category: str
    unit: str
    summed: str = ""
    is_unexplained: bool = False


Placed = tuple[_Score, Fraction]
"""A score, and how many of its table's unit its own unit is."""


def tool_of(facts: SeriesFacts) -> str:
    """Whose words the units of a series are: its tool's, or those of its study."""
    return facts.tool or f"study:{facts.study}"


def by_table(
    scores: Iterable[_Score], name_of: Callable[[_Score], tuple[str, str, str, str]], system: str
) -> list[tuple[TableKey, list[Placed[_Score]]]]:
    """The scores of each table, tables in the paper's order.

    ``name_of`` says test, category, unit and tool of a score, ``system`` how units are chosen
    (``ComparisonSpec.units``).
    """
    named: dict[tuple[str, str, str, str], list[_Score]] = defaultdict(list)
    for score in scores:  # there are thousands: as little as can be is done with each
        named[name_of(score)].append(score)
    found: dict[tuple[str, str], dict[Printed, list[_Score]]] = defaultdict(dict)
    for (test, category, unit, tool), of_name in named.items():
        found[test, category][unit, tool] = of_name
    tables: dict[TableKey, list[Placed[_Score]]] = {}
    for (test, category), of_units in found.items():
        shown = shown_units(of_units.keys(), system)
        for printed, some in of_units.items():
            key = _key(test, category, printed, shown)
            tables.setdefault(key, []).extend(zip(some, repeat(shown[printed].times)))
    return sorted(
        tables.items(),
        key=lambda item: (
            *(testnames.place(item[0].test), categories.place(item[0].category)),
            *(item[0].is_unexplained, item[0].unit, item[0].summed),
        ),
    )


def _key(test: str, category: str, printed: Printed, shown: Mapping[Printed, Shown]) -> TableKey:
    one = shown[printed]
    if category != "overall":
        return TableKey(test, category, one.unit, is_unexplained=one.is_unexplained)
    unit = overall_unit(one.unit)
    is_plain = len({(other.unit, other.times) for other in shown.values()}) == 1 == one.times
    summed = one.unit if unit == SUM != one.unit and not is_plain else ""
    return TableKey(test, category, unit, summed, one.is_unexplained)
