"""Distributions: the share of all that does not exceed a value, and values at percentiles."""

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette, ticks
from fsbench_web.figures.frame import figure, heading, plain_text
from fsbench_web.figures.lines import MOST_LINES

MOST_POINTS = 250
_PERCENTS = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
Shares = Sequence[tuple[float, float]]
"""(value, share of all that do not exceed it), rising; the last share is 1."""


def percentile_curve(lines: Mapping[str, Shares], unit: str, title: str) -> go.Figure:
    """Values over percentiles, whose axis gives each further nine the same room; values on a
    logarithmic axis. Raises ValueError for more lines than can be told apart.
    """
    traces = []
    for name, shares in lines.items():
        # The share below a value; behind the last one nothing is known, so it has no place.
        points = _thinned([(_nines(share), value) for value, share in shares if share < 1])
        traces.append((name, points))
    unit_name = numbers.unit_name(unit)
    end = max((x for _, points in traces for x, _ in points), default=1.0)
    places = [percent for percent in _PERCENTS if _nines(percent / 100) <= end + 0.3]
    return _figure(
        [
            (
                name,
                [x for x, _ in points],
                [numbers.scaled(y, unit) for _, y in points],
                [
                    f"{100 - 100 * 10**-x:.6g}% within {numbers.with_unit(y, unit)}"
                    for x, y in points
                ],
            )
            for name, points in traces
        ],
        title,
        unit_name,
        {
            "title": {"text": "percentile", "font": {"size": 12}},
            "tickmode": "array",
            "tickvals": [_nines(percent / 100) for percent in places],
            # 0% and 50% would run into each other on a narrow screen.
            "ticktext": [f"{percent:g}%" if percent else "" for percent in places],
        },
        _logarithmic(lines, unit, f"{unit_name}, less is better (log)"),
        lines,
        unit,
    )


def cumulative(lines: Mapping[str, Shares], unit: str, title: str) -> go.Figure:
    """Shares over values (CDF), these on a logarithmic axis. Raises as ``percentile_curve``."""
    unit_name = numbers.unit_name(unit)
    traces = []
    for name, shares in lines.items():
        points = _thinned([(share, value) for value, share in shares], 1.0)
        traces.append(
            (
                name,
                [numbers.scaled(y, unit) for _, y in points],
                [100 * x for x, _ in points],
                [f"{100 * x:.6g}% within {numbers.with_unit(y, unit)}" for x, y in points],
            )
        )
    return _figure(
        traces,
        title,
        unit_name,
        _logarithmic(lines, unit, f"{unit_name}, less is better (log)"),
        {
            "title": {"text": "% of all", "font": {"size": 12}, "standoff": 12},
            "range": [0, 101],
        },
        lines,
        unit,
    )


def _nines(share: float) -> float:
    return -math.log10(max(1 - share, 1e-9))


def _thinned(
    points: Sequence[tuple[float, float]], whole: float = 5.0
) -> list[tuple[float, float]]:
    """As many as can be seen, those that were there among them; the last one always."""
    least = whole / MOST_POINTS
    thinned: list[tuple[float, float]] = []
    for point in points:
        if not thinned or point[0] - thinned[-1][0] >= least or point is points[-1]:
            thinned.append(point)
    return thinned


def _logarithmic(lines: Mapping[str, Shares], unit: str, title: str) -> dict[str, object]:
    values = [
        numbers.scaled(value, unit) for shares in lines.values() for value, _ in shares if value > 0
    ]
    marks = ticks.log_ticks(min(values) / 1.1, max(values) * 1.1) if values else []
    return {
        "title": {"text": plain_text(title), "font": {"size": 12}, "standoff": 12},
        "type": "log",
        "tickmode": "array",
        "tickvals": marks,
        "ticktext": ticks.tick_labels(marks),
    }


def _figure(
    traces: Sequence[tuple[str, Sequence[float], Sequence[float], Sequence[str]]],
    title: str,
    unit_name: str,
    x_axis: dict[str, object],
    y_axis: dict[str, object],
    lines: Mapping[str, Shares],
    unit: str,
) -> go.Figure:
    if len(traces) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines cannot be told apart")
    styles = palette.styles([name for name, *_ in traces])
    axis = {"fixedrange": True, "automargin": True, "zeroline": False}
    return figure(
        [
            {
                "type": "scatter",
                "name": plain_text(name),
                "x": [float(f"{x:.6g}") for x in xs],
                "y": [float(f"{y:.6g}") for y in ys],
                "mode": "lines",
                "customdata": [plain_text(text) for text in sentence],
                "hovertemplate": "%{customdata}<extra>" + plain_text(name) + "</extra>",
                "line": {
                    "color": style.colour,
                    "dash": style.dash if len(traces) > 1 else "solid",
                    "width": 2,
                    "shape": "hv",
                },
                "meta": {"series": style.series},
            }
            for (name, xs, ys, sentence), style in zip(traces, styles, strict=True)
        ],
        {
            "title": heading(title),
            "height": 380,
            "margin": {"l": 8, "r": 16, "t": 44, "b": 48},
            "showlegend": len(traces) > 1,
            "legend": {"orientation": "h", "y": -0.25, "yanchor": "top"},
            "hovermode": "closest",
            "xaxis": axis | x_axis,
            "yaxis": axis | y_axis,
            "meta": {"summary": _summary(title, lines, unit)},
        },
    )


def _summary(title: str, lines: Mapping[str, Shares], unit: str) -> str:
    sentences = []
    for name, shares in lines.items():
        parts = []
        for percent in (50, 99, 99.9):
            value = next((value for value, share in shares if share >= percent / 100), None)
            if value is not None:
                parts.append(f"{percent:g}% within {numbers.with_unit(value, unit)}")
        sentences.append(f"{name}: {', '.join(parts)}")
    return f"{title}. {'; '.join(sentences)}."
