"""The map of block by file size beside the answer of a study or comparison: its leader over the
baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from fsbench_web.compare.answer import ComparisonAnswer
from fsbench_web.compare.drawings.shapes import Drawing
from fsbench_web.compare.drawings.speedup_map import speedup_map
from fsbench_web.compare.pictures.parts import is_lower
from fsbench_web.compare.tables.headlines import headline_tables
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import testnames
from fsbench_web.studies.models import Series
from fsbench_web.studies.runs.shown import quality
from fsbench_web.studies.scores import cells


@dataclass(frozen=True)
class StudyMap:
    """``first`` and ``second`` are the configurations whose cells are drawn."""

    drawing: Drawing
    first: str
    second: str
    address: str


def study_map(
    tables: Sequence[DeltaTable], found: ComparisonAnswer, compared: str
) -> StudyMap | None:
    """Of the test with most data points; None where no matrix of both was measured.

    ``compared`` is the query of the comparison that the tables are of.
    """
    if not found.workloads:
        return None
    answer = found.workloads[0].answer
    rival = answer.runner_up if answer.first == answer.baseline else answer.baseline
    pairs = [
        (table, *pair)
        for table in headline_tables(tables)
        if table.test in answer.tests
        for pair in [_pair(table, answer.first, rival)]
        if pair is not None
    ]
    if not pairs:
        return None
    table, ours, theirs = max(pairs, key=lambda pair: pair[1].cells or 0)
    ratios = _ratios(table.test, ours.series_id or 0, theirs.series_id or 0)
    edges = quality.edges(
        Series.objects.filter(pk=ours.series_id or 0).values_list("quality", flat=True).first(),
        table.test,
    )
    drawing = speedup_map(
        ratios,
        ours.contender,
        theirs.contender,
        testnames.label(table.test),
        edges,
        testnames.block_word(table.test),
    )
    if drawing is None:
        return None
    query = {"picture": "ratio", "a": ours.series_id, "b": theirs.series_id, "of": table.test}
    return StudyMap(
        drawing,
        ours.configuration or ours.contender,
        theirs.configuration or theirs.contender,
        f"{reverse('compare:pictures')}?{compared}{'&' if compared else ''}{urlencode(query)}",
    )


def _pair(table: DeltaTable, first: str, second: str) -> tuple[DeltaRow, DeltaRow] | None:
    """The rows of both, where runs stand behind them and a matrix may."""
    rows = {row.contender: row for row in table.rows}
    ours, theirs = rows.get(first), rows.get(second)
    if ours is None or theirs is None or ours.series_id is None or theirs.series_id is None:
        return None
    return None if ours.cells == 1 or not ours.run_ids else (ours, theirs)


def _ratios(test: str, first: int, second: int) -> dict[cells.Cell, float]:
    """Of speed, where both have a data point of a block and a file size in the same unit."""
    try:
        by_series = cells.mean_cells({first, second}, test)
    except cells.TooManyValues:
        return {}
    best: dict[cells.Cell, float] = {}
    for (series, unit), ours in by_series.items():
        theirs = by_series.get((second, unit))
        if series != first or theirs is None:
            continue
        ratios = {
            cell: theirs[cell] / value if is_lower(unit) else value / theirs[cell]
            for cell, value in ours.items()
            if value > 0 and theirs.get(cell, 0) > 0
        }
        best = max(best, ratios, key=len)
    return best
