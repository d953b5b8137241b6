"""The matrix of one test: record size by file size."""

import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from fsbench_web.figures import numbers
from fsbench_web.figures.frame import figure, heading, plain_text

# From this ratio of largest to smallest the colours follow the logarithm: read rates of one matrix
# differ by a factor of 20, and a linear scale would show the cached cells and nothing else.
LOGARITHMIC_FROM = 8
TEXT_CELLS_AT_MOST = 130


def matrix(
    cells: Mapping[tuple[int, int], float | None],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    limits: tuple[float, float] | None = None,
) -> go.Figure:
    """A heat map of ``{(record KB, file KB): value in unit}``, records upwards, files rightwards.

    Cells that are missing or None stay blank: IOzone has none where a record does not fit into the
    file. The colour scale is viridis (even steps to the eye, readable for the colour-blind),
    brightest for the fastest; it is logarithmic where the values span a factor of eight or more.
    ``limits`` are the ends of the colour scale in ``unit``, for figures that share one.
    """
    known = {key: value for key, value in cells.items() if value is not None}
    records = sorted({record for record, _ in cells})
    files = sorted({file for _, file in cells})
    record_names = [numbers.size(record * numbers.KB) for record in records]
    file_names = [numbers.size(file * numbers.KB) for file in files]
    low, high = limits or ((min(known.values()), max(known.values())) if known else (0.0, 0.0))
    is_log = low > 0 and high / low >= LOGARITHMIC_FROM

    def shade(value: float | None) -> float | None:
        return value if value is None or not is_log else math.log10(value)

    rows = [[known.get((record, file)) for file in files] for record in records]
    trace = go.Heatmap(
        x=file_names,
        y=record_names,
        z=[[shade(value) for value in row] for row in rows],
        customdata=[[plain_text(numbers.with_unit(v, unit)) for v in row] for row in rows],
        zmin=shade(low) if known else None,
        zmax=shade(high) if known else None,
        colorscale="Viridis",
        reversescale=lower_is_better,
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate="record %{y}, file %{x}<br>%{customdata}<extra></extra>",
        colorbar={
            "title": {"text": plain_text(unit) + (", log" if is_log else ""), "side": "right"},
            "thickness": 12,
            "outlinewidth": 0,
            **(_log_ticks(low, high) if is_log else {}),
        },
    )
    if len(known) <= TEXT_CELLS_AT_MOST:
        trace.text = [[numbers.compact(value) for value in row] for row in rows]
        trace.texttemplate = "%{text}"
        trace.textfont = {"size": 10}
    return figure(
        [trace],
        {
            "title": heading(title),
            "height": 150 + 30 * max(4, len(records)),
            "margin": {"l": 8, "r": 8, "t": 44, "b": 48},
            "xaxis": _axis("file size"),
            "yaxis": _axis("record size"),
            "meta": {"summary": _summary(known, unit, title)},
        },
    )


def _axis(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 12}},
        "type": "category",
        "automargin": True,
        "showgrid": False,
    }


def _log_ticks(low: float, high: float) -> dict[str, list[float] | list[str]]:
    """Ticks at 1, 2 and 5 times the powers of ten within the values, for a scale of logarithms."""
    values = [
        factor * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factor in (1, 2, 5)
        if low <= factor * 10.0**power <= high
    ]
    return {
        "tickvals": [math.log10(value) for value in values],
        "ticktext": [numbers.compact(value) for value in values],
    }


def _summary(known: Mapping[tuple[int, int], float], unit: str, title: str) -> str:
    if not known:
        return f"{title}: heat map without any value."

    def where(key: tuple[int, int]) -> str:
        record, file = key
        return (
            f"{numbers.with_unit(known[key], unit)} at record {numbers.size(record * numbers.KB)}, "
            f"file {numbers.size(file * numbers.KB)}"
        )

    lowest = min(known, key=lambda key: known[key])
    highest = max(known, key=lambda key: known[key])
    return (
        f"{title}: heat map of {len(known)} cells, record size by file size. "
        f"Lowest {where(lowest)}; highest {where(highest)}."
    )
