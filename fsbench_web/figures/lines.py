"""Lines of several contenders over one size or load, with 95% intervals where they are known."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette, ticks
from fsbench_web.figures.frame import axis, figure, line_layout, plain_text

MOST_LINES = 7
"""As many as there are colours; more nobody tells apart."""
CUT = ", intervals cut at 0"
_APART = 0.055
"""Of the way to the next place: how far the intervals of two lines stand from each other."""
LOGARITHMIC_FROM = 8
LOG, LINEAR = "log", "linear"


@dataclass(frozen=True)
class Point:
    """``y`` at ``x``; ``ends`` of its 95% interval, in the unit of ``y``, where it is known."""

    x: float
    y: float
    ends: tuple[float, float] | None = None
    note: str = ""
    link: str = ""


@dataclass(frozen=True)
class Line:
    """One contender's points, in any order. A place of another line's that it lacks is a gap."""

    name: str
    points: Sequence[Point]


def curves(
    lines: Sequence[Line],
    unit: str,
    title: str,
    x_title: str,
    x_names: Mapping[float, str] | None = None,
    lower_is_better: bool = False,
    among: Iterable[str] = (),
    scale: str = "",
) -> go.Figure:
    """A line for each contender, with a marker for each number and a gap where there is none.

    An axis is logarithmic from a factor of eight between its ends, that of values as ``scale`` says
    where it does (LOG or LINEAR). ``among`` are all contenders of the page: they keep their looks.
    ``x_names`` writes the values of x (sizes); without it they are written as numbers. Where
    several lines have intervals, those of one place are drawn side by side, centred on it: on top
    of each other nobody tells whose is whose. An interval that reaches below zero, of values that
    do not, is cut at zero, and the axis says so. Raises ValueError for more lines than MOST_LINES.
    """
    if len(lines) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines cannot be told apart")
    lines = [in_shown_unit(line, unit) for line in lines]
    unit = numbers.unit_name(unit)
    places = sorted({point.x for line in lines for point in line.points})
    names = x_names or {x: f"{x:g}" for x in places}
    styles = palette.styles([line.name for line in lines], among)
    all_xs = _shifted_places(lines, places)
    return figure(
        [
            trace(line, places, names, unit, style, xs)
            for line, style, xs in zip(lines, styles, all_xs, strict=True)
        ],
        line_layout(
            title,
            x_axis(places, names, x_title),
            y_axis(
                [point for line in lines for point in line.points],
                f"{unit}, {direction(lower_is_better)}",
                cuts=True,
                scale=scale,
            ),
            _summary(lines, names, unit, title),
        ),
    )


def x_axis(places: Sequence[float], names: Mapping[float, str], title: str) -> dict[str, Any]:
    is_log = is_logarithmic(places)
    return axis(
        title + (" (log)" if is_log else ""),
        type="log" if is_log else "linear",
        tickmode="array",
        tickvals=places,
        ticktext=[names[x] for x in places],
    )


def y_axis(
    points: Sequence[Point], title: str, cuts: bool = False, scale: str = ""
) -> dict[str, Any]:
    """The axis of values: logarithmic where they span a factor of eight and nothing is below zero.

    ``scale`` asks for LOG or LINEAR; nothing at or below zero has a logarithm.

    ``cuts`` has it begin at zero where intervals reach below and no value does.
    """
    values = [point.y for point in points]
    ends = [end for point in points for end in point.ends or ()]
    upright = axis(title, standoff=12, type="linear", rangemode="tozero", nticks=8)
    has_logarithms = bool(values) and all(value > 0 for value in (*values, *ends))
    if has_logarithms and (scale == LOG or (not scale and is_logarithmic(values))):
        return upright | log_axis(title, [*values, *ends])
    if cuts and ends and min(ends) < 0 <= min(values):
        upright["title"]["text"] += CUT
        upright["range"] = [0, 1.05 * max(*values, *ends)]
    return upright


def log_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis of values, with ticks a little beyond their ends, where the axis goes on.

    Values at or below zero have no place on it.
    """
    above = [value for value in values if value > 0]
    marks = ticks.log_ticks(min(above) / 1.3, max(above) * 1.3) if above else []
    return axis(
        f"{title} (log)",
        standoff=12,
        type="log",
        rangemode="normal",
        tickmode="array",
        tickvals=marks,
        ticktext=ticks.tick_labels(marks),
    )


def in_shown_unit(line: Line, unit: str) -> Line:
    points = [
        replace(
            point,
            y=numbers.scaled(point.y, unit),
            ends=point.ends
            and (numbers.scaled(point.ends[0], unit), numbers.scaled(point.ends[1], unit)),
        )
        for point in line.points
    ]
    return Line(line.name, points)


def trace(
    line: Line,
    places: Sequence[float],
    names: Mapping[float, str],
    unit: str,
    style: palette.Style,
    xs: Sequence[float],
) -> dict[str, Any]:
    by_x = {point.x: point for point in line.points}
    points = [by_x.get(x) for x in places]
    return line_trace(
        line.name,
        xs,
        [point.y if point else None for point in points],
        [in_words(point, names[point.x], unit) if point else None for point in points],
        style,
        [point.link if point else None for point in points],
        connectgaps=False,
        **({"error_y": whiskers(points)} if any(point.ends for point in line.points) else {}),
    )


def line_trace(
    name: str,
    xs: Sequence[float],
    ys: Sequence[float | None],
    words: Sequence[str | None],
    style: palette.Style,
    links: Sequence[str | None] = (),
    **more: Any,
) -> dict[str, Any]:
    """A line with markers; ``words`` are the hover text of each point, ``more`` replaces."""
    return {
        "type": "scatter",
        "name": plain_text(name),
        "x": list(xs),
        "y": list(ys),
        "mode": "lines+markers",
        "line": {"color": style.colour, "dash": style.dash, "width": 2},
        "marker": {"color": style.colour, "symbol": style.symbol, "size": 8},
        "customdata": list(words),
        "hovertemplate": "%{customdata}<extra>" + plain_text(name) + "</extra>",
        "meta": {"series": style.series} | ({"links": list(links)} if links else {}),
        **more,
    }


def whiskers(points: Sequence[Point | None]) -> dict[str, Any]:
    """The intervals of points as plotly draws them: how far they reach above and below each."""
    intervals = [(point.y, *point.ends) if point and point.ends else None for point in points]
    return {
        "type": "data",
        "symmetric": False,
        "array": [max(0, bounds[2] - bounds[0]) if bounds else None for bounds in intervals],
        "arrayminus": [max(0, bounds[0] - bounds[1]) if bounds else None for bounds in intervals],
        "thickness": 1.5,
        "width": 4,
    }


def _shifted_places(lines: Sequence[Line], places: Sequence[float]) -> list[Sequence[float]]:
    """Where each line is drawn: at its places, or a little beside them where intervals would lie
    on each other."""
    with_intervals = [
        place for place, line in enumerate(lines) if any(point.ends for point in line.points)
    ]
    if len(with_intervals) < 2 or len(places) < 2:
        return [places] * len(lines)
    to_scale, from_scale = (math.log2, math.exp2) if is_logarithmic(places) else (float, float)
    step = _APART * min(to_scale(b) - to_scale(a) for a, b in itertools.pairwise(places))
    middle = (len(lines) - 1) / 2
    return [
        [from_scale(to_scale(x) + (place - middle) * step) for x in places]
        for place in range(len(lines))
    ]


def in_words(point: Point, x_name: str, unit: str) -> str:
    parts = [x_name, numbers.with_unit(point.y, unit)]
    if point.ends:
        low, high = (numbers.amount(end, unit) for end in point.ends)
        parts.append(f"95% interval {low} to {high}")
    return "<br>".join(plain_text(part) for part in (*parts, point.note) if part)


def is_logarithmic(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) >= LOGARITHMIC_FROM


def direction(lower_is_better: bool) -> str:
    return "less is better" if lower_is_better else "more is better"


def _summary(lines: Sequence[Line], names: Mapping[float, str], unit: str, title: str) -> str:
    entries: list[Any] = []
    for line in lines:
        points = sorted(line.points, key=lambda point: point.x)
        numbers_text = ", ".join(
            f"{numbers.with_unit(point.y, unit)} at {names[point.x]}" for point in points
        )
        entries.append(f"{line.name}: {numbers_text or 'no value'}")
    return f"{title}: line chart. {'; '.join(entries)}."
