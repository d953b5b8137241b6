"""Stacked bars: the paper's combined charts, best write and best read of each file system."""

from collections.abc import Sequence

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import bar_layout, figure, plain_text

WRITE_SERIES, READ_SERIES = 1, 5


def read_write(
    labels: Sequence[str],
    writes: Sequence[float | None],
    reads: Sequence[float | None],
    unit: str,
    title: str,
    links: Sequence[tuple[str, str]] | None = None,
    halves: tuple[str, str] = ("Write", "Read"),
) -> go.Figure:
    """Write and read scores on top of each other, largest sum first. Values in ``unit``.

    A contender without both halves has no sum and comes last; a missing half is not drawn.
    ``links`` are where a click on either half leads; ``halves`` name them.
    Raises ValueError when the lengths differ.
    """
    rows = [
        (label, write, read, None if write is None or read is None else write + read, link)
        for label, write, read, link in zip(
            labels, writes, reads, links or [("", "")] * len(labels), strict=True
        )
    ]
    rows.sort(key=lambda row: (row[3] is None, -(row[3] or 0)))
    names = [row[0] for row in rows]

    columns: list[list[float | None]] = [[row[1] for row in rows], [row[2] for row in rows]]

    def half_bars(place: int, series: int) -> go.Bar:
        name, values = halves[place], columns[place]
        return go.Bar(
            name=name,
            x=list(values),
            y=[plain_text(name) for name in names],
            orientation="h",
            text=[numbers.compact(value) for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[plain_text(numbers.with_unit(value, unit)) for value in values],
            hovertemplate="%{y}<br>" + name.lower() + ": %{customdata}<extra></extra>",
            marker={"color": palette.colour(series)},
            meta={"series": series} | ({"links": [row[4][place] for row in rows]} if links else {}),
        )

    return figure(
        [
            half_bars(0, WRITE_SERIES),
            half_bars(1, READ_SERIES),
        ],
        bar_layout(
            title=title,
            x_title=f"{unit}, {halves[0].lower()} plus {halves[1].lower()}, more is better",
            rows=len(rows),
            summary=f"{title}: stacked bar chart. "
            + "; ".join(
                f"{name} {halves[0].lower()} {numbers.with_unit(write, unit)} plus "
                f"{halves[1].lower()} {numbers.with_unit(read, unit)} is "
                f"{numbers.with_unit(total, unit)}"
                for name, write, read, total, _ in rows
            )
            + ".",
        )
        | {
            "barmode": "stack",
            # A half that is too narrow for its number goes without, rather than in tiny letters.
            "uniformtext": {"minsize": 9, "mode": "hide"},
            # What the rows are ordered by stands behind each; a half that is missing has no sum.
            "annotations": [
                {
                    "x": total,
                    "xanchor": "left",
                    "xshift": 6,
                    "y": plain_text(name),
                    "text": f"<b>{numbers.compact(total)}</b>",
                    "showarrow": False,
                }
                for name, _, _, total, _ in rows
                if total is not None
            ],
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
