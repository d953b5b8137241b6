"""What all figures share: margins, axes, the text alternative. Colours come from the page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from fsbench_web.core import numbers

ROW_PX = 34

pio.templates.default = None  # 7 KB a figure; the page's script brings its own colours


def bar_layout(
    *,
    title: str,
    x_title: str,
    rows: int,
    summary: str,
    gaps: Sequence[tuple[str, str]] = (),
    row_px: int = ROW_PX,
    ticks: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The layout of horizontal bars, the first row on top, as high as its rows need.

    ``gaps``: (label, words) of rows without a bar. ``ticks``: rows' labels at the axis.
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
            "title": {"text": plain_text(x_title)},
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
    }


def bar_chart_px(rows: int, row_px: int = ROW_PX) -> int:
    """The height of a figure of horizontal bars in pixels."""
    return max(220, 112 + row_px * rows)


def line_layout(
    title: str,
    x_axis: Mapping[str, Any],
    y_axis: Mapping[str, Any],
    summary: str,
    *,
    height: int = 420,
    legend_y: float = -0.2,
    **more: Any,
) -> dict[str, Any]:
    """The layout of lines or marks over an axis, with the legend below it."""
    return {
        "title": heading(title),
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 48},
        "showlegend": True,
        "legend": {"orientation": "h", "y": legend_y, "yanchor": "top"},
        "hovermode": "closest",
        "xaxis": x_axis,
        "yaxis": y_axis,
        "meta": {"summary": summary},
        **more,
    }


def axis(title: str, *, standoff: int | None = None, **more: Any) -> dict[str, Any]:
    """An axis with a title, ``standoff`` pixels from its numbers where given."""
    words: dict[str, Any] = {"text": plain_text(title)}
    if standoff is not None:
        words["standoff"] = standoff
    return {"title": words, "automargin": True, **more}


def note_omitted_lines(chart: go.Figure, count: int) -> None:
    """Name in the legend, if there is one, how many lines a limit left out."""
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
    """The title; the page's script puts it at the left edge."""
    return {"text": plain_text(title)}


def plain_text(text: str) -> str:
    """Text as plotly takes it literally: it reads a subset of HTML, and %{names} in hover text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("%{", "% {")


def summary(
    title: str, kind: str, entries: Iterable[tuple[str, str]], lower_is_better: bool | None = None
) -> str:
    """The text alternative of a figure, in one sentence; ``entries`` are (name, words)."""
    better = "" if lower_is_better is None else f", {direction(lower_is_better)}"
    listed = "; ".join(f"{name} {words}" for name, words in entries)
    return f"{title}: {kind}{better}: {listed or 'no value'}."


def extent(values: Iterable[float | None], unit: str) -> str:
    """From which to which of the values, with their unit, for ``summary``."""
    known = [value for value in values if value is not None]
    if not known:
        return "no value"
    low, high = min(known), max(known)
    return numbers.with_unit(low, unit) if low == high else numbers.span(low, high, unit)


def direction(lower_is_better: bool) -> str:
    return "less is better" if lower_is_better else "more is better"


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from ``low`` to ``high``; over long ranges the powers."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(decades) <= 5 else (1,)
    return [
        factor * 10.0**power
        for power in decades
        for factor in factors
        if low <= factor * 10.0**power <= high
    ]
