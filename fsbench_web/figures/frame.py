"""What all figures share: margins, axes, the text alternative. Colours come from the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

ROW_PX = 34

PlainFigure = dict[str, Any]
"""A figure as the page gets it, {"data": [...], "layout": {...}}, without plotly.py's checks.

Making a ``go.Figure`` checks every property, which takes milliseconds: a page of dozens of charts
takes them plain. Tests hold the two together.
"""


def frame(
    traces: Sequence[Any],
    *,
    title: str,
    x_title: str,
    rows: int,
    summary: str,
    gaps: Sequence[tuple[str, str]] = (),
    layout: Mapping[str, Any] | None = None,
    row_px: int = ROW_PX,
    ticks: Mapping[str, str] | None = None,
) -> go.Figure:
    """A figure of horizontal bars, the first row on top, as high as its rows need."""
    return figure(
        traces,
        bar_layout(
            title=title,
            x_title=x_title,
            rows=rows,
            summary=summary,
            gaps=gaps,
            layout=layout,
            row_px=row_px,
            ticks=ticks,
        ),
    )


def bar_layout(
    *,
    title: str,
    x_title: str,
    rows: int,
    summary: str,
    gaps: Sequence[tuple[str, str]] = (),
    layout: Mapping[str, Any] | None = None,
    row_px: int = ROW_PX,
    ticks: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The layout of such a figure.

    ``summary`` is the text alternative: what the figure shows, with its numbers. ``gaps`` are
    (label, words) of rows without a bar. ``layout`` adds to the layout. ``ticks`` are the rows'
    labels as they are written at the axis, where any is long enough to need several lines.
    """
    yaxis: dict[str, Any] = {
        "autorange": "reversed",
        "type": "category",
        "fixedrange": True,
        "automargin": True,
        "ticksuffix": "  ",
    }
    if ticks and any("\n" in text for text in ticks.values()):
        # Blanks as the suffix sets them, which plotly.js does not put behind texts of one's own.
        tick_texts = [text.replace("\n", "  <br>") + "  " for text in ticks.values()]
        yaxis |= {"tickmode": "array", "tickvals": list(ticks), "ticktext": tick_texts}
    return {
        "title": heading(title),
        "height": bar_chart_px(rows, row_px),
        "margin": {"l": 8, "r": 16, "t": 44, "b": 48},
        "bargap": 0.3,
        "showlegend": False,
        "xaxis": {
            "title": {"text": plain_text(x_title), "font": {"size": 12}},
            "rangemode": "tozero",
            "automargin": True,
            "separatethousands": True,
            "nticks": 6,
        },
        "yaxis": yaxis,
        "annotations": [
            {
                "x": 0,
                "y": plain_text(label),
                "text": plain_text(words),
                "showarrow": False,
                "xanchor": "left",
                "xshift": 4,
            }
            for label, words in gaps
        ],
        "meta": {"summary": summary},
        **(layout or {}),
    }


def bar_chart_px(rows: int, row_px: int = ROW_PX) -> int:
    """The height of a figure of horizontal bars in pixels."""
    return max(220, 112 + row_px * rows)


def figure(traces: Sequence[Any], layout: Mapping[str, Any]) -> go.Figure:
    """A figure without plotly.py's own template, which is 7 KB; the page's script brings its own.

    The layout is given at once: each later update of a figure costs milliseconds.
    """
    chart = go.Figure(data=list(traces), layout={"template": "none", **layout})
    chart.layout.template = None
    return chart


def note_omitted_lines(chart: go.Figure, count: int) -> None:
    """The legend names how many lines a limit left out of a figure: a saved picture has no notes.

    Nothing is said of none, nor where there is no legend.
    """
    if count > 0 and chart.layout.showlegend:
        chart.add_trace(
            {
                "type": "scatter",
                **{"x": [None], "y": [None], "mode": "markers", "marker": {"opacity": 0}},
                "name": f"{count} more, not drawn",
                "showlegend": True,
                "hoverinfo": "skip",
                "meta": {"role": "undrawn"},
            }
        )


def heading(title: str) -> dict[str, Any]:
    """A title at the left edge of the figure."""
    return {
        "text": plain_text(title),
        "x": 0,
        "xanchor": "left",
        "xref": "container",
        "font": {"size": 14},
    }


def plain_text(text: str) -> str:
    """Text as plotly takes it literally: it reads a subset of HTML, and %{names} in hover text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("%{", "% {")
