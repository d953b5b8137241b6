"""What all figures share: margins, axes, the text alternative. Colours come from the page."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

ROW_PX = 34


def frame(traces: Sequence[Any], *, title: str, x_title: str, rows: int, summary: str) -> go.Figure:
    """A figure of horizontal bars, the first row on top, as high as its rows need.

    ``summary`` is the text alternative: what the figure shows, with its numbers.
    """
    figure = go.Figure(data=list(traces))
    # Plotly.py's own template is 7 KB in every figure; the page's script brings its own.
    figure.layout.template = None
    figure.update_layout(
        title={
            "text": plain_text(title),
            "x": 0,
            "xanchor": "left",
            "xref": "container",
            "font": {"size": 14},
        },
        height=max(220, 112 + ROW_PX * rows),
        margin={"l": 8, "r": 16, "t": 44, "b": 48},
        bargap=0.3,
        showlegend=False,
        xaxis={
            "title": {"text": x_title, "font": {"size": 12}},
            "rangemode": "tozero",
            "fixedrange": True,
            "automargin": True,
            "separatethousands": True,
            "nticks": 6,
        },
        yaxis={
            "autorange": "reversed",
            "type": "category",
            "fixedrange": True,
            "automargin": True,
            "ticksuffix": "  ",
        },
        meta={"summary": summary},
    )
    return figure


def plain_text(text: str) -> str:
    """Text as plotly takes it literally: it reads a subset of HTML, and %{names} in hover text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("%{", "% {")


def beside(figure: go.Figure, label: str, text: str) -> None:
    """Words at the axis in the row of ``label``, where there is no bar."""
    figure.add_annotation(
        x=0,
        y=plain_text(label),
        text=plain_text(text),
        showarrow=False,
        xanchor="left",
        xshift=4,
    )
