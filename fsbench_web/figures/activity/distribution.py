"""Distributions: the share of all that does not exceed a value, and values at percentiles."""

import math
from collections.abc import Mapping, Sequence

from fsbench_web.core import numbers
from fsbench_web.figures import palette, ticks
from fsbench_web.figures.frame import Plain, heading, plain_text
from fsbench_web.figures.lines import MOST_LINES

MOST_POINTS = 250
_PERCENTS = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
Shares = Sequence[tuple[float, float]]
"""(value, share of all that do not exceed it), rising; the last share is 1."""


def percentile_curve(lines: Mapping[str, Shares], unit: str, title: str) -> Plain:
    """Values over percentiles, whose axis gives each further nine the same room; values on a
    logarithmic axis. Raises ValueError for more lines than can be told apart.
    """
    traces = []
    for name, shares in lines.items():
        # The share below a value; behind the last one nothing is known, so it has no place.
        points = _thinned([(_nines(share), value) for value, share in shares if share < 1])
        traces.append((name, points))
    shown = numbers.unit_name(unit)
    most = max((x for _, points in traces for x, _ in points), default=1.0)
    places = [one for one in _PERCENTS if _nines(one / 100) <= most + 0.3]
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
        shown,
        {
            "title": {"text": "percentile", "font": {"size": 12}},
            "tickmode": "array",
            "tickvals": [_nines(one / 100) for one in places],
            # 0% and 50% would run into each other on a narrow screen.
            "ticktext": [f"{one:g}%" if one else "" for one in places],
        },
        _logarithmic(lines, unit, f"{shown}, less is better (log)"),
        lines,
        unit,
    )


def cumulative(lines: Mapping[str, Shares], unit: str, title: str) -> Plain:
    """Shares over values (CDF), these on a logarithmic axis. Raises as ``percentile_curve``."""
    shown = numbers.unit_name(unit)
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
        shown,
        _logarithmic(lines, unit, f"{shown}, less is better (log)"),
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
    found: list[tuple[float, float]] = []
    for point in points:
        if not found or point[0] - found[-1][0] >= least or point is points[-1]:
            found.append(point)
    return found


def _logarithmic(lines: Mapping[str, Shares], unit: str, title: str) -> dict[str, object]:
    values = [numbers.scaled(v, unit) for shares in lines.values() for v, _ in shares if v > 0]
    shown = ticks.log_ticks(min(values) / 1.1, max(values) * 1.1) if values else []
    return {
        "title": {"text": plain_text(title), "font": {"size": 12}, "standoff": 12},
        "type": "log",
        "tickmode": "array",
        "tickvals": shown,
        "ticktext": ticks.names(shown),
    }


def _figure(
    traces: Sequence[tuple[str, Sequence[float], Sequence[float], Sequence[str]]],
    title: str,
    shown: str,
    x_axis: dict[str, object],
    y_axis: dict[str, object],
    lines: Mapping[str, Shares],
    unit: str,
) -> Plain:
    if len(traces) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines cannot be told apart")
    styles = palette.styles([name for name, *_ in traces])
    axis = {"fixedrange": True, "automargin": True, "zeroline": False}
    return {
        "data": [
            {
                "type": "scatter",
                "name": plain_text(name),
                "x": [float(f"{one:.6g}") for one in xs],
                "y": [float(f"{one:.6g}") for one in ys],
                "mode": "lines",
                "customdata": [plain_text(one) for one in sentence],
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
        "layout": {
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
    }


def _summary(title: str, lines: Mapping[str, Shares], unit: str) -> str:
    sentences = []
    for name, shares in lines.items():
        parts = []
        for percent in (50, 99, 99.9):
            value = next((v for v, share in shares if share >= percent / 100), None)
            if value is not None:
                parts.append(f"{percent:g}% within {numbers.with_unit(value, unit)}")
        sentences.append(f"{name}: {', '.join(parts)}")
    return f"{title}. {'; '.join(sentences)}."
