"""Latencies over the seconds of a test, on a logarithmic axis: a line a percentile, or a line a
contender.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import axis, figure, line_layout, plain_text
from fsbench_web.figures.lines import MOST_LINES, line_trace, log_axis
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
    values = [numbers.scaled(value, unit) for curve in curves for value in curve.line[0]]
    fixed = {"fixedrange": True, "zeroline": False}
    return figure(
        [_trace(curve, unit) for curve in curves],
        line_layout(
            title,
            axis("seconds of the test", rangemode="tozero", **fixed),
            log_axis(f"{numbers.unit_name(unit)}, less is better", values) | fixed,
            f"{title}. {'; '.join(_notes(curves, unit))}.",
            height=380,
            legend_y=-0.25,
        ),
    )


def _trace(curve: _Curve, unit: str) -> dict[str, Any]:
    values, seconds, counts = curve.line
    style, name = curve.style, plain_text(curve.name)
    return line_trace(
        curve.name,
        seconds,
        # Nothing at 0 has a place on a logarithmic axis.
        [float(f"{numbers.scaled(value, unit):.5g}") or None for value in values],
        [
            f"{numbers.with_unit(value, unit)} of {count:,}"
            for value, count in zip(values, counts, strict=True)
        ],
        style,
        mode="lines+markers" if len(seconds) < FEW else "lines",
        line={"color": style.colour, "dash": style.dash, "width": 1.5},
        marker={"color": style.colour, "symbol": style.symbol, "size": 5},
        hovertemplate=f"until %{{x:.4~g}} s<br>%{{customdata}}<extra>{name}</extra>",
    )


def _notes(curves: Sequence[_Curve], unit: str) -> Iterator[str]:
    for curve in curves:
        values = curve.line[0]
        if values:
            ends = " to ".join(numbers.with_unit(end, unit) for end in (min(values), max(values)))
            yield f"{curve.name} from {ends} in {len(values)} intervals"
