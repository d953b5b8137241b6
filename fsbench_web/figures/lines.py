"""Lines and marks of several contenders, with 95% intervals where they are known.

Lines join percentiles for the eye: nothing is known between two of them.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import frame, palette
from fsbench_web.figures.ceilings import COLOUR

MOST_LINES = 7
"""As many as there are colours; more nobody tells apart."""
MOST_POINTS = 250
"""Of a histogram: more nobody can see."""
CUT = ", intervals cut at 0"
LOGARITHMIC_FROM = 8
LOG, LINEAR = "log", "linear"
_APART = 0.055
"""Of the way to the next place: how far the intervals of two lines stand from each other."""
_PHASES_SPREAD = 0.6
"""Of the room of a phase, which its marks share."""
_IN_WORDS = (0.5, 0.99, 0.999)
_PERCENTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


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
    """One contender's points, in any order; a place that it lacks is a gap.

    ``is_ceiling``: of a LUN, dashed and grey. ``is_whole``: a histogram, drawn as steps.
    """

    name: str
    points: Sequence[Point]
    is_ceiling: bool = False
    is_whole: bool = False


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

    Axes are logarithmic from a factor of eight; ``scale`` (LOG or LINEAR) sets that of the values.
    ``among``: all contenders of the page. ``x_names`` writes the places. Raises ValueError for more
    than MOST_LINES.
    """
    lines = shown_lines(lines, unit)
    unit = numbers.unit_name(unit)
    places = sorted({point.x for line in lines for point in line.points})
    names = x_names or {x: f"{x:g}" for x in places}
    styles = palette.styles([line.name for line in lines], among)
    return go.Figure(
        [
            trace(line, places, names, unit, style, xs)
            for line, style, xs in zip(lines, styles, _shifted_places(lines, places), strict=True)
        ],
        frame.line_layout(
            title,
            x_axis(places, names, x_title),
            y_axis(lines, f"{unit}, {frame.direction(lower_is_better)}", cuts=True, scale=scale),
            frame.summary(title, "line chart", entries(lines, unit), lower_is_better),
        ),
    )


def phases(
    lines: Sequence[Line],
    names: Sequence[str],
    unit: str,
    title: str,
    lower_is_better: bool = True,
    among: Iterable[str] = (),
    scale: str = "",
) -> go.Figure:
    """Marks without lines; ``x`` of a point is the place of its phase. Raises as ``curves``."""
    lines = shown_lines(lines, unit)
    unit = numbers.unit_name(unit)
    styles = palette.styles([line.name for line in lines], among)
    by_place = {float(place): name for place, name in enumerate(names)}
    step, middle = _PHASES_SPREAD / max(len(lines), 1), (len(lines) - 1) / 2
    traces = []
    for number, (line, style) in enumerate(zip(lines, styles, strict=True)):
        xs = [place + step * (number - middle) for place in by_place]
        marks = trace(line, [*by_place], by_place, unit, style, xs)
        marks["marker"]["size"] = 10
        traces.append(marks | {"mode": "markers"})
    across = {
        "type": "linear",
        "tickmode": "array",
        "tickvals": [*by_place],
        "ticktext": [frame.plain_text(name) for name in names],
        # Words end at their tick: the last one has no room on its right.
        "tickangle": -40,
        "range": [-0.5, len(names) - 0.5],
        "zeroline": False,
        "automargin": True,
    }
    return go.Figure(
        traces,
        frame.line_layout(
            title,
            across,
            y_axis(lines, f"{unit}, {frame.direction(lower_is_better)}", scale=scale),
            frame.summary(
                title, f"marks of {len(names)} phases", entries(lines, unit), lower_is_better
            ),
            height=440,
            legend_y=-0.25,
        ),
    )


def of_histogram(name: str, pairs: Iterable[tuple[float, float]]) -> Line:
    """The (value, share of all that is at most that) pairs of all bins."""
    return Line(name, [Point(share, value) for value, share in pairs], is_whole=True)


def percentiles(
    lines: Sequence[Line],
    unit: str,
    title: str,
    among: Iterable[str] = (),
    scale: str = "",
    *,
    is_cdf: bool = False,
) -> go.Figure:
    """Values over percentiles, each further nine with the same room; or shares over the values.

    ``x`` of points are shares from 0 to 1. Raises ValueError as ``curves``.
    """
    lines = [
        replace(
            line,
            points=sorted(
                (point for point in line.points if is_cdf or point.x < 1),
                key=lambda point: point.x,
            ),
        )
        for line in shown_lines(lines, unit)
    ]
    unit = numbers.unit_name(unit)
    points = [point for line in lines for point in line.points]
    values_title = f"{unit}, {frame.direction(lower_is_better=True)}"
    if any(line.is_whole for line in lines):
        values = log_axis(values_title, [point.y for point in points])
    else:
        values = y_axis(lines, values_title, cuts=not is_cdf, scale=scale)
    if is_cdf:
        values["rangemode"] = "normal" if scale != LINEAR else "tozero"
        axes = (values, frame.axis("share of all, %", standoff=12, range=[0, 102]))
    else:
        largest_share = max((point.x for point in points), default=0.9)
        ticks = [share for share in _PERCENTILES if share <= max(largest_share, 0.9)]
        percents = frame.axis(
            "percentile",
            tickmode="array",
            tickvals=[_nines(share) for share in ticks],
            ticktext=[percent(share) for share in ticks],
            zeroline=False,
        )
        axes = (percents, values)
    kind = "cumulative distribution" if is_cdf else "percentiles"
    styles = palette.styles([line.name for line in lines], among)
    return go.Figure(
        [
            _distribution_trace(line, style, unit, is_cdf=is_cdf, is_alone=len(lines) == 1)
            for line, style in zip(lines, styles, strict=True)
        ],
        frame.line_layout(
            title,
            *axes,
            frame.summary(title, kind, [(line.name, _tails(line, unit)) for line in lines], True),
            showlegend=len(lines) > 1 or not all(line.is_whole for line in lines),
        ),
    )


def percent(share: float) -> str:
    """``99.9%``: as many digits as it takes."""
    return f"{round(100 * share, 7):g}%"


def _nines(share: float) -> float:
    return -math.log10(max(1 - share, 1e-9))


def _distribution_trace(
    line: Line, style: palette.Style, unit: str, *, is_cdf: bool, is_alone: bool
) -> dict[str, Any]:
    points = _thinned(line.points, is_cdf=is_cdf) if line.is_whole else line.points
    values = [point.y for point in points]
    places = [100 * point.x if is_cdf else _nines(point.x) for point in points]
    more: dict[str, Any] = {}
    if line.is_whole:
        dash = "solid" if is_alone else style.dash
        steps = {"dash": dash, "width": 2, "shape": "hv"}
        more = {"mode": "lines", "line": steps}
        # Six digits: a page holds hundreds of these.
        values, places = ([float(f"{number:.6g}") for number in each] for each in (values, places))
    if any(point.ends for point in points):
        more["error_x" if is_cdf else "error_y"] = whiskers(points)
    return line_trace(
        line.name,
        values if is_cdf else places,
        places if is_cdf else values,
        [in_words(point, percent(point.x), unit, "at most ") for point in points],
        style,
        [] if line.is_whole else [point.link or None for point in points],
        **more,
    )


def _tails(line: Line, unit: str) -> str:
    """The percentiles that the text alternative has: the median and the tails."""
    tails = {}
    for share in _IN_WORDS:
        point = next((point for point in line.points if point.x >= share), None)
        if point is not None:
            at = share if line.is_whole else point.x
            tails[at] = f"{numbers.with_unit(point.y, unit)} at {percent(at)}"
    return ", ".join(tails.values())


def _thinned(points: Sequence[Point], *, is_cdf: bool) -> list[Point]:
    """As many as can be seen, each as it was; the last one always."""
    least = (1 if is_cdf else 5) / MOST_POINTS
    thinned: list[Point] = []
    last = -math.inf
    for point in points:
        place = point.x if is_cdf else _nines(point.x)
        if place - last >= least or point is points[-1]:
            thinned.append(point)
            last = place
    return thinned


def shown_lines(lines: Sequence[Line], unit: str) -> list[Line]:
    """The lines in the unit that people read. Raises ValueError for more than MOST_LINES."""
    if len(lines) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines are too many to distinguish")
    return [
        replace(
            line,
            points=[
                replace(
                    point,
                    y=numbers.scaled(point.y, unit),
                    ends=point.ends
                    and (numbers.scaled(point.ends[0], unit), numbers.scaled(point.ends[1], unit)),
                )
                for point in line.points
            ],
        )
        for line in lines
    ]


def entries(lines: Iterable[Line], unit: str) -> list[tuple[str, str]]:
    """The lines for the text alternative."""
    return [(line.name, frame.extent([point.y for point in line.points], unit)) for line in lines]


def x_axis(places: Sequence[float], names: Mapping[float, str], title: str) -> dict[str, Any]:
    is_log = is_logarithmic(places)
    return frame.axis(
        title + (" (log)" if is_log else ""),
        type="log" if is_log else "linear",
        tickmode="array",
        tickvals=places,
        ticktext=[names[x] for x in places],
    )


def y_axis(
    lines: Iterable[Line], title: str, cuts: bool = False, scale: str = ""
) -> dict[str, Any]:
    """The axis of values: logarithmic where they span a factor of eight and all are above zero.

    ``scale`` asks for LOG or LINEAR. ``cuts``: begin at zero where only intervals reach below.
    """
    points = [point for line in lines for point in line.points]
    values = [point.y for point in points]
    ends = [end for point in points for end in point.ends or ()]
    upright = frame.axis(title, standoff=12, type="linear", rangemode="tozero", nticks=8)
    has_logarithms = bool(values) and all(value > 0 for value in (*values, *ends))
    if has_logarithms and (scale == LOG or (not scale and is_logarithmic(values))):
        return upright | log_axis(title, [*values, *ends])
    if cuts and ends and min(ends) < 0 <= min(values):
        upright["title"]["text"] += CUT
        upright["range"] = [0, 1.05 * max(*values, *ends)]
    return upright


def log_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis, with ticks a little beyond the ends of the values above zero."""
    above = [value for value in values if value > 0]
    marks = frame.log_ticks(min(above) / 1.3, max(above) * 1.3) if above else []
    return frame.axis(
        f"{title} (log)",
        standoff=12,
        type="log",
        rangemode="normal",
        tickmode="array",
        tickvals=marks,
        ticktext=[numbers.compact(mark) for mark in marks],
    )


def trace(
    line: Line,
    places: Sequence[float],
    names: Mapping[float, str],
    unit: str,
    style: palette.Style,
    xs: Sequence[float],
) -> dict[str, Any]:
    """A line over ``places``, drawn at ``xs``, with a gap where it has no point."""
    by_x = {point.x: point for point in line.points}
    points = [by_x.get(x) for x in places]
    drawn = line_trace(
        line.name,
        xs,
        [point.y if point else None for point in points],
        [in_words(point, names[point.x], unit) if point else None for point in points],
        style,
        [point.link if point else None for point in points],
        connectgaps=False,
        **({"error_y": whiskers(points)} if any(point.ends for point in line.points) else {}),
    )
    if line.is_ceiling:
        drawn["line"] |= {"dash": "dash", "color": COLOUR}
        drawn["marker"] |= {"size": 4, "color": COLOUR}
        # Without the number of a series, by which pages give contenders their colours.
        drawn["meta"] = {"role": "ceiling"}
    return drawn


def line_trace(
    name: str,
    xs: Sequence[float | str],
    ys: Sequence[float | None],
    words: Sequence[str | None],
    style: palette.Style,
    links: Sequence[str | None] = (),
    **more: Any,
) -> dict[str, Any]:
    """A line with markers; ``words`` are the hover text of each point, ``more`` replaces."""
    return {
        "type": "scatter",
        "name": frame.plain_text(name),
        "x": list(xs),
        "y": list(ys),
        "mode": "lines+markers",
        "line": {"dash": style.dash, "width": 2},
        "marker": {"symbol": style.symbol, "size": 8},
        "customdata": list(words),
        "hovertemplate": "%{customdata}<extra>" + frame.plain_text(name) + "</extra>",
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
    """Where each line is drawn: a little off its places where intervals would overlap."""
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


def in_words(point: Point, x_name: str, unit: str, before: str = "") -> str:
    """The text of a point at the pointer; ``before`` stands before its value."""
    parts = [x_name, before + numbers.with_unit(point.y, unit)]
    if point.ends:
        parts.append(f"95% interval {numbers.span(*point.ends, unit)}")
    return "<br>".join(frame.plain_text(part) for part in (*parts, point.note) if part)


def is_logarithmic(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) >= LOGARITHMIC_FROM
