"""IOzone's surface: record size and file size on the floor, the values above it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import colourscale
from fsbench_web.figures.frame import figure, heading, plain_text
from fsbench_web.figures.heatmap import LOGARITHMIC_FROM, Cell
from fsbench_web.figures.sizes import SizeAxis, size_axis, size_name
from fsbench_web.figures.ticks import log_ticks, tick_labels


def surface(
    cells: Mapping[Cell, float],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    links: Mapping[Cell, str] | None = None,
    notes: Mapping[Cell, str] | None = None,
    block: str = "block",
) -> go.Figure:
    """A surface of ``{(record KB, file KB): value in unit}``; every measured cell has a marker.

    The surface joins neighbouring cells so that the eye can follow; where a cell is missing it has
    a hole, and only the markers are numbers that were measured. All three axes are logarithmic, the
    upper one where the values span a factor of eight or more and none is zero.
    """
    cells = {cell: numbers.scaled(value, unit) for cell, value in cells.items()}
    unit = numbers.unit_name(unit)
    records = size_axis(record for record, _ in cells)
    files = size_axis(file for _, file in cells)
    low, high = (min(cells.values()), max(cells.values())) if cells else (0.0, 0.0)
    is_log = low > 0 and high / low >= LOGARITHMIC_FROM
    heights: dict[tuple[int | None, int | None], float] = {
        cell: math.log10(value) if is_log else value for cell, value in cells.items()
    }
    ends = f"From {numbers.with_unit(low, unit)} to {numbers.with_unit(high, unit)}."
    sheet = go.Surface(
        x=[_log2(size) for size in _places(files)],
        y=[_log2(size) for size in _places(records)],
        # What is no size is a gap, and no key of a cell.
        z=[[heights.get((record, file)) for file in files.columns] for record in records.columns],
        connectgaps=False,
        colorscale=colourscale.as_plotly(colourscale.VIRIDIS),
        reversescale=lower_is_better,
        showscale=False,
        hoverinfo="skip",
        opacity=0.95,
    )
    return figure(
        [sheet, _markers(cells, list(heights.values()), unit, links or {}, notes or {}, block)],
        {
            "title": heading(title),
            "height": 560,
            "margin": {"l": 0, "r": 0, "t": 44, "b": 0},
            "showlegend": False,
            "scene": {
                "xaxis": _size_layout(files, "file size (log)"),
                "yaxis": _size_layout(records, f"{block} size (log)"),
                "zaxis": {
                    "title": {"text": plain_text(unit) + (" (log)" if is_log else "")},
                    **(_log_heights(low, high) if is_log else {"rangemode": "tozero"}),
                },
                "camera": {"eye": {"x": -1.3, "y": -1.4, "z": 0.8}, "center": {"z": -0.15}},
                "aspectratio": {"x": 1.2, "y": 1, "z": 0.75},
            },
            "meta": {
                "summary": f"{title}: surface of {len(cells)} cells, file size by {block} size. "
                + (ends if cells else "There is no value.")
            },
        },
    )


def _markers(
    cells: Mapping[Cell, float],
    heights: Sequence[float],
    unit: str,
    links: Mapping[Cell, str],
    notes: Mapping[Cell, str],
    block: str,
) -> go.Scatter3d:
    """A marker for each cell that was measured."""

    def words(cell: Cell) -> str:
        sizes = f"{block} {size_name(cell[0])}, file {size_name(cell[1])}"
        parts = (sizes, numbers.with_unit(cells[cell], unit), notes.get(cell, ""))
        return "<br>".join(plain_text(part) for part in parts if part)

    return go.Scatter3d(
        x=[_log2(file) for _, file in cells],
        y=[_log2(record) for record, _ in cells],
        z=heights,
        mode="markers",
        marker={"size": 4, "color": "#d55e00"},
        customdata=[words(cell) for cell in cells],
        hovertemplate="%{customdata}<extra></extra>",
        meta={"links": [links.get(cell) for cell in cells]},
    )


def _places(axis: SizeAxis) -> list[float]:
    """Where each column stands: its size, or the middle of a gap."""
    return [
        size if size is not None else math.sqrt(axis.edges[place] * axis.edges[place + 1])
        for place, size in enumerate(axis.columns)
    ]


def _size_layout(axis: SizeAxis, title: str) -> dict[str, Any]:
    # The scene of 3-D plots has no text of its own at ticks of a logarithmic axis, so that the
    # logarithms are taken here.
    sizes = axis.sizes[:: max(1, math.ceil(len(axis.sizes) / 8))]
    return {
        "title": {"text": title},
        "tickvals": [_log2(size) for size in sizes],
        "ticktext": [size_name(size) for size in sizes],
    }


def _log_heights(low: float, high: float) -> dict[str, Any]:
    ticks = log_ticks(low, high)
    return {"tickvals": [math.log10(tick) for tick in ticks], "ticktext": tick_labels(ticks)}


def _log2(size: float) -> float:
    return math.log2(size)
