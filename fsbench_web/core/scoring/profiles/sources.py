"""Whose cells of a work profile are put together. Pure.

Cells that were measured in one way (the same tool, its parameters the same but for the sizes) are
one measurement, whichever workloads measured them. Of several ways that has most of the cells,
and within it each cell is one source's: never a mean over several.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, TypeVar

from fsbench_web.core.scoring.profiles.definition import Demand

Source = TypeVar("Source", bound=Hashable)


def put_together(
    able: Iterable[Source],
    wanted: Collection[Demand],
    cells_of: Callable[[Source], Collection[Demand]],
    measurement_of: Callable[[Source], str],
    preferred: Callable[[Source], Any],
) -> list[Source]:
    """The sources of one measurement, in the order in which a cell is taken from them.

    ``able`` measured the operation of the ``wanted`` cells, if at other sizes alone. Of equal ones
    the ``preferred`` by its largest value. Those that give no cell are left out; where none does it
    is one.
    """
    by_way: dict[str, list[Source]] = defaultdict(list)
    for source in able:
        by_way[measurement_of(source)].append(source)
    if not by_way:
        return []

    def count(source: Source) -> int:
        return sum(demand in cells_of(source) for demand in wanted)

    def standing(sources: list[Source]) -> tuple[int, Any]:
        some = [one for one in sources if count(one)] or sources
        together = sum(any(demand in cells_of(one) for one in some) for demand in wanted)
        return together, max(preferred(one) for one in some)

    best = max(by_way.values(), key=standing)
    ranked = sorted(best, key=lambda one: (count(one), preferred(one)), reverse=True)
    givers = {next((one for one in ranked if demand in cells_of(one)), None) for demand in wanted}
    return [one for one in ranked if one in givers] or ranked[:1]
