"""Matrices of one test, each of one series, averaged over its finished runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import FLAGS, ordered
from fsbench_web.core.stats.intervals import mean
from fsbench_web.studies.scores import measurements
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


def mean_maps(series_ids: Iterable[int], test: str, limit: int) -> list[MeanMap] | None:
    """The matrices of ``test`` (with its load), in order of series and unit.

    None where they have more than ``limit`` cells together. One query, and one for each very large
    block.
    """
    names = {testnames.parts(test)}
    values: dict[tuple[int, str], dict[Cell, list[float]]] = {}
    flagged: dict[tuple[int, str], dict[str, set[Cell]]] = {}
    for numbers in measurements.read(measurements.of_finished(series_ids), names.__contains__):
        for (name, record_kb, file_kb, value, _), flags in zip(
            numbers.columns.rows(), numbers.flags, strict=True
        ):
            if record_kb is None or file_kb is None:
                continue
            key, cell = (numbers.series_id, name.unit), (record_kb, file_kb)
            values.setdefault(key, {}).setdefault(cell, []).append(value)
            for slug in flags or ():
                flagged.setdefault(key, {}).setdefault(slug, set()).add(cell)
        if sum(map(len, values.values())) > limit:
            return None
    return [
        MeanMap(
            *key,
            {cell: mean(values[key][cell]) for cell in sorted(values[key])},
            {
                FLAGS[slug].of_cells if slug in FLAGS else slug: flagged[key][slug]
                for slug in ordered(set(flagged.get(key, ())))
            },
        )
        for key in sorted(values)
    ]
