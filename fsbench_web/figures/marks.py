"""What is drawn over a heat map: hatching of flagged cells, and the line of the cache boundary.

Plotly's heat maps know no patterns, so each flag is a trace of its own: the outlines of its cells,
filled with a pattern. Where a cell has several flags their patterns lie over each other.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fsbench_web.core.scoring.quality import FLAGS, OF_RUNS
from fsbench_web.figures.frame import plain_text
from fsbench_web.figures.sizes import SizeAxis, size_name

Cell = tuple[int, int]
"""(record size KB, file size KB)"""
HATCHING = "hatching"
_SHAPES = ("/", "\\", "x", "+", "-", "|", ".")
# A flag has the same pattern on every map; what is not known by name has the last.
_SHAPE_OF = dict(
    zip(
        (flag.of_cells for slug, flag in FLAGS.items() if slug not in OF_RUNS),
        _SHAPES,
        strict=False,
    )
)
LEGEND = {
    "showlegend": True,
    "legend": {
        "orientation": "h",
        "x": 0,
        # Below the axis and its title, however high the map and however its sizes are turned.
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "font": {"size": 11},
        "itemclick": False,
        "itemdoubleclick": False,
    },
}
"""Part of the layout of a figure with marks."""


def hatching(
    flagged: Mapping[str, Collection[Cell]], records: SizeAxis, files: SizeAxis
) -> list[dict[str, Any]]:
    """A hatched trace for each flag, {what the legend says: cells}; flags without cells have none.

    The lines are light on a shade, so that they are seen on every colour of the scale.
    """
    rows, columns = _spans(records), _spans(files)
    traces: list[dict[str, Any]] = []
    for label, cells in flagged.items():
        x: list[float | None] = []
        y: list[float | None] = []
        for record, file in sorted(cells):
            if record not in rows or file not in columns:
                continue
            (low, high), (left, right) = rows[record], columns[file]
            x += [left, right, right, left, left, None]
            y += [low, low, high, high, low, None]
        if not x:
            continue
        traces.append(
            {
                "type": "scatter",
                "x": x[:-1],
                "y": y[:-1],
                "mode": "lines",
                "line": {"width": 0},
                "fill": "toself",
                "fillcolor": "rgba(0,0,0,0.25)",
                "fillpattern": {
                    "shape": _SHAPE_OF.get(label, _SHAPES[-1]),
                    "size": 8,
                    "solidity": 0.28,
                    "fgcolor": "rgba(255,255,255,0.85)",
                    "bgcolor": "rgba(0,0,0,0.25)",
                    "fillmode": "replace",
                },
                "hoverinfo": "skip",
                "name": plain_text(f"{label}: {len(cells)} cell{'s' * (len(cells) != 1)}"),
                "meta": {"role": HATCHING},
            }
        )
    return traces


def boundary(
    edges: Mapping[int, tuple[int, int]], records: SizeAxis, files: SizeAxis
) -> list[dict[str, Any]]:
    """The line between files within the cache and beyond it: {record KB: (last KB, first KB)}.

    It is drawn twice, red over white, to be seen on every colour of the scale and in the legend.
    No edges, no line.
    """
    spans = _spans(records)
    x: list[float] = []
    y: list[float] = []
    texts: list[str] = []
    for record in sorted(edges):
        if record not in spans:
            continue
        last, first = edges[record]
        x += [math.sqrt(last * first)] * 2
        y += spans[record]
        texts += [f"cache boundary: between files of {size_name(last)} and {size_name(first)}"] * 2
    if not x:
        return []
    line: dict[str, Any] = {"type": "scatter", "x": x, "y": y, "mode": "lines"}
    return [
        {
            **line,
            "line": {"color": "#fff", "width": 6},
            "hoverinfo": "skip",
            "showlegend": False,
        },
        {
            **line,
            "line": {"color": "#c92a2a", "width": 3},
            "name": "cache boundary",
            "text": [plain_text(text) for text in texts],
            "hovertemplate": "%{text}<extra></extra>",
        },
    ]


def in_words(flagged: Mapping[str, Collection[Cell]], has_boundary: bool) -> str:
    """For the text alternative: which flags there are, on how many cells; "" without any."""
    parts = [f"{len(cells)} {label}" for label, cells in flagged.items() if cells]
    text = f" Hatched cells: {', '.join(parts)}." if parts else ""
    return text + (" A line shows the cache boundary along the file size." if has_boundary else "")


def _spans(axis: SizeAxis) -> dict[int, Sequence[float]]:
    """Where each size begins and ends on its axis."""
    return {
        size: (axis.edges[place], axis.edges[place + 1])
        for place, size in enumerate(axis.columns)
        if size is not None
    }
