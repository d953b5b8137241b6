"""Matrices of one test, each of one series, averaged over its finished runs by the database."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Aggregate, Avg, TextField

from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import FLAGS, ordered
from fsbench_web.studies.models import Measurement, RunState
from fsbench_web.studies.scores.cells import Cell


@dataclass
class MeanMap:
    """The cells of one series: {(record KB, file KB): mean of the repeats in ``unit``}.

    ``flagged`` are the cells that carry a flag in any repeat, {what a legend says of it: cells}.
    """

    series_id: int
    unit: str
    cells: dict[Cell, float] = field(default_factory=dict)
    flagged: dict[str, set[Cell]] = field(default_factory=dict)


class _Lines(Aggregate):
    """JSON of a group as text, a line each, without nulls: no line breaks stand within JSON."""

    template = "STRING_AGG(%(expressions)s::text, chr(10))"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return super().as_sql(
            compiler, connection, template="GROUP_CONCAT(%(expressions)s, char(10))", **context
        )


def mean_maps(series_ids: Iterable[int], test: str, most: int) -> list[MeanMap] | None:
    """The matrices of ``test`` (with its load), in order of series and unit.

    None where they have more than ``most`` cells together. One query: the numbers are read once,
    for means and flags.
    """
    name, load = testnames.parts(test)
    rows = (
        Measurement.objects.filter(
            run__series__in=list(series_ids),
            run__state=RunState.DONE,
            test=name,
            load=load,
            record_size_kb__isnull=False,
            file_size_kb__isnull=False,
        )
        .order_by()
        .values_list("run__series_id", "unit", "record_size_kb", "file_size_kb")
        .annotate(mean=Avg("value"), of_flags=_Lines("flags"))
        .order_by("run__series_id", "unit", "record_size_kb", "file_size_kb")
    )
    found: dict[tuple[int, str], MeanMap] = {}
    slugs: dict[str, set[str]] = {}
    count = 0
    for series_id, unit, record_kb, file_kb, mean, of_flags in rows[: most + 1]:
        count += 1
        one = found.get((series_id, unit))
        if one is None:
            one = found[series_id, unit] = MeanMap(series_id, unit)
        # The filter leaves out what has no sizes, which the type does not know.
        cell = (record_kb or 0, file_kb or 0)
        one.cells[cell] = mean
        if of_flags:
            if of_flags not in slugs:
                slugs[of_flags] = {
                    slug for line in of_flags.split("\n") for slug in json.loads(line) or ()
                }
            for slug in slugs[of_flags]:
                one.flagged.setdefault(slug, set()).add(cell)
    if count > most:
        return None
    for one in found.values():
        one.flagged = {
            FLAGS[slug].of_cells if slug in FLAGS else slug: one.flagged[slug]
            for slug in ordered(set(one.flagged))
        }
    return list(found.values())
