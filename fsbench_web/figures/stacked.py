"""Stacked bars: the paper's combined charts, best write and best read of each file system."""

from collections.abc import Sequence

import plotly.graph_objects as go

from fsbench_web.figures import numbers, palette
from fsbench_web.figures.frame import frame, plain_text

WRITE_SERIES, READ_SERIES = 1, 5


def read_write(
    labels: Sequence[str],
    writes: Sequence[float | None],
    reads: Sequence[float | None],
    unit: str,
    title: str,
) -> go.Figure:
    """Write and read scores on top of each other, largest sum first. Values in ``unit``.

    A contender without both halves has no sum and comes last; a missing half is not drawn.
    Raises ValueError when the lengths differ.
    """
    rows = [
        (label, write, read, None if write is None or read is None else write + read)
        for label, write, read in zip(labels, writes, reads, strict=True)
    ]
    rows.sort(key=lambda row: (row[3] is None, -(row[3] or 0)))
    names = [row[0] for row in rows]

    def half(name: str, values: Sequence[float | None], series: int) -> go.Bar:
        return go.Bar(
            name=name,
            x=list(values),
            y=[plain_text(name) for name in names],
            orientation="h",
            text=[numbers.compact(value) for value in values],
            textposition="inside",
            insidetextanchor="middle",
            customdata=[plain_text(numbers.with_unit(value, unit)) for value in values],
            hovertemplate="%{y}<br>" + name.lower() + ": %{customdata}<extra></extra>",
            marker={"color": palette.colour(series)},
            meta={"series": series},
        )

    return frame(
        [
            half("Write", [row[1] for row in rows], WRITE_SERIES),
            half("Read", [row[2] for row in rows], READ_SERIES),
        ],
        title=title,
        x_title=f"{unit}, write plus read, more is better",
        rows=len(rows),
        summary=f"{title}: stacked bar chart. "
        + "; ".join(
            f"{name} write {numbers.with_unit(write, unit)} plus read "
            f"{numbers.with_unit(read, unit)} is {numbers.with_unit(total, unit)}"
            for name, write, read, total in rows
        )
        + ".",
        layout={
            "barmode": "stack",
            "showlegend": True,
            "legend": {
                "orientation": "h",
                "x": 1,
                "xanchor": "right",
                "y": 1.02,
                "yanchor": "bottom",
                "traceorder": "normal",
            },
        },
    )
