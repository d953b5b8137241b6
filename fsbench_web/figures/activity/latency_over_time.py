"""Latencies over the seconds of a test, on a logarithmic axis: a line a percentile, or a line a
contender.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette, ticks
from fsbench_web.figures.frame import figure, heading, plain_text
from fsbench_web.figures.lines import MOST_LINES
from fsbench_web.figures.palette import Style

Line = tuple[Sequence[float], Sequence[float], Sequence[int]]
"""(values, seconds at which their intervals ended, completions of these)"""
FEW = 30
"""So many intervals have a mark each."""


@dataclass(frozen=True)
class _Curve:
    name: str
    line: Line
    style: Style

    def __post_init__(self) -> None:
        if len({len(part) for part in self.line}) > 1:
            raise ValueError("every line must have a value for every interval")


def over_time(
    lines: Mapping[str, Sequence[float]],
    seconds: Sequence[float],
    counts: Sequence[int],
    unit: str,
    title: str,
) -> go.Figure:
    """``lines`` are values in ``unit`` by what they are called, one an interval that ended at one
    of ``seconds`` with so many completions. Raises ValueError where lengths differ.
    """
    curves = [
        _Curve(name, (values, seconds, counts), Style(place))
        for place, (name, values) in enumerate(lines.items(), start=1)
    ]
    return _figure(curves, unit, title)


def of_contenders(lines: Mapping[str, Line], unit: str, title: str) -> go.Figure:
    """A line each, which looks as its contender does everywhere. Raises ValueError as above, and
    for more than can be told apart.
    """
    if len(lines) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines cannot be told apart")
    styles = palette.styles(list(lines))
    curves = [
        _Curve(name, line, style) for (name, line), style in zip(lines.items(), styles, strict=True)
    ]
    return _figure(curves, unit, title)


def _figure(curves: Sequence[_Curve], unit: str, title: str) -> go.Figure:
    values = [
        numbers.scaled(value, unit) for curve in curves for value in curve.line[0] if value > 0
    ]
    marks = ticks.log_ticks(min(values) / 1.1, max(values) * 1.1) if values else []
    axis = {"fixedrange": True, "automargin": True, "zeroline": False}
    y_title = plain_text(f"{numbers.unit_name(unit)}, less is better (log)")
    return figure(
        [_trace(curve, unit) for curve in curves],
        {
            "title": heading(title),
            "height": 380,
            "margin": {"l": 8, "r": 16, "t": 44, "b": 48},
            "showlegend": True,
            "legend": {"orientation": "h", "y": -0.25, "yanchor": "top"},
            "hovermode": "closest",
            "xaxis": axis
            | {
                "title": {"text": "seconds of the test", "font": {"size": 12}},
                "rangemode": "tozero",
            },
            "yaxis": axis
            | {
                "title": {"text": y_title, "font": {"size": 12}, "standoff": 12},
                "type": "log",
                "tickmode": "array",
                "tickvals": marks,
                "ticktext": ticks.tick_labels(marks),
            },
            "meta": {"summary": f"{title}. {'; '.join(_notes(curves, unit))}."},
        },
    )


def _trace(curve: _Curve, unit: str) -> dict[str, Any]:
    values, seconds, counts = curve.line
    return {
        "type": "scatter",
        "name": plain_text(curve.name),
        "x": list(seconds),
        # Nothing at 0 has a place on a logarithmic axis.
        "y": [float(f"{numbers.scaled(value, unit):.5g}") or None for value in values],
        "mode": "lines+markers" if len(seconds) < FEW else "lines",
        "line": {"color": curve.style.colour, "dash": curve.style.dash, "width": 1.5},
        "marker": {"color": curve.style.colour, "symbol": curve.style.symbol, "size": 5},
        "customdata": [
            f"{numbers.with_unit(value, unit)} of {count:,}"
            for value, count in zip(values, counts, strict=True)
        ],
        "hovertemplate": "until %{x:.4~g} s<br>%{customdata}<extra>"
        + plain_text(curve.name)
        + "</extra>",
        "meta": {"series": curve.style.series},
    }


def _notes(curves: Sequence[_Curve], unit: str) -> Iterator[str]:
    for curve in curves:
        values = curve.line[0]
        if values:
            ends = " to ".join(numbers.with_unit(end, unit) for end in (min(values), max(values)))
            yield f"{curve.name} from {ends} in {len(values)} intervals"
