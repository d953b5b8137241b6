"""A strip for each contender: every repeat a point, their mean with its 95% interval above."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.figures import frame
from fsbench_web.figures.bars import in_lines

ROW_PX = 52
LEAST_FOR_A_BOX = 5
"""Of fewer repeats the quartiles are repeats, and a box would say more than is known."""


@dataclass(frozen=True)
class Strip:
    """One contender: value, link and note of each repeat. ``link``: to all of its runs."""

    name: str
    values: Sequence[float]
    links: Sequence[str]
    notes: Sequence[str]
    interval: Interval | None
    link: str = ""


def repeats(
    strips: Sequence[Strip], unit: str, title: str, lower_is_better: bool = False
) -> go.Figure:
    """The repeats of each contender, values in ``unit`` rightwards, the first on top.

    Raises ValueError when the lengths of a strip differ.
    """
    if any(
        {len(strip.values)} != {len(strip.links), len(strip.notes), len(strip.values)}
        for strip in strips
    ):
        raise ValueError("every repeat has a value, a link and a note")
    strips = [_in_shown_unit(strip, unit) for strip in strips]
    unit = numbers.unit_name(unit)
    pairs = [(strip, strip.interval) for strip in strips if strip.interval is not None]
    chart = go.Figure(
        [
            *(_box(strip, unit) for strip in strips if len(strip.values) >= LEAST_FOR_A_BOX),
            _points(strips, unit),
            *([_means(pairs, unit)] if pairs else []),
        ],
        frame.bar_layout(
            title=title,
            x_title=f"{unit}, {frame.direction(lower_is_better)}; the axis need not begin at zero",
            rows=len(strips),
            summary=frame.summary(
                title,
                "strip plot of repeats",
                [(strip.name, frame.extent(strip.values, unit)) for strip in strips],
                lower_is_better,
            ),
            row_px=ROW_PX,
            ticks={
                frame.plain_text(strip.name): frame.plain_text(in_lines(strip.name))
                for strip in strips
            },
        )
        | {
            "showlegend": True,
            # Below the axis and its title, on however many lines these are.
            "legend": {
                "orientation": "h",
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
                "x": 0,
            },
            "hovermode": "closest",
        },
    )
    # How far repeats scatter would not be seen from zero; a point is no bar, whose length counts.
    chart.layout.xaxis.rangemode = "normal"
    return chart


def _points(strips: Sequence[Strip], unit: str) -> go.Scatter:
    """Every repeat."""
    dots = [
        (strip.name, value, note, link)
        for strip in strips
        for value, note, link in zip(strip.values, strip.notes, strip.links, strict=True)
    ]
    sentences = [(numbers.with_unit(value, unit), note) for _, value, note, _ in dots]
    return go.Scatter(
        name="repeat",
        x=[value for _, value, _, _ in dots],
        y=[frame.plain_text(name) for name, _, _, _ in dots],
        mode="markers",
        marker={"size": 11, "opacity": 0.55, "symbol": "circle"},
        customdata=[
            "<br>".join(frame.plain_text(part) for part in parts if part) for parts in sentences
        ],
        hovertemplate="%{y}<br>%{customdata}<extra></extra>",
        meta={"series": 1, "links": [link for _, _, _, link in dots]},
    )


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The three of them, interpolated (Hyndman and Fan, 1996, definition 7)."""
    first, median, third = np.percentile(values, [25, 50, 75], method="linear")
    return float(first), float(median), float(third)


def _box(strip: Strip, unit: str) -> go.Box:
    """Quartiles, and whiskers to the repeats that are farthest within 1.5 boxes (Tukey, 1977)."""
    first, median, third = quartiles(strip.values)
    reach = 1.5 * (third - first)
    inside = [value for value in strip.values if first - reach <= value <= third + reach]
    text = f"median {numbers.with_unit(median, unit)}, quartiles {numbers.span(first, third, unit)}"
    return go.Box(
        name="quartiles",
        orientation="h",
        y=[frame.plain_text(strip.name)],
        q1=[first],
        median=[median],
        q3=[third],
        lowerfence=[min(inside)],
        upperfence=[max(inside)],
        boxpoints=False,
        width=0.5,
        showlegend=False,
        hoverinfo="text",
        hovertext=frame.plain_text(f"{strip.name}: {text}, {len(strip.values)} repeats"),
        line={"width": 1.5},
        fillcolor="rgba(128,128,128,0.15)",
        meta={"series": 7},
    )


def _means(pairs: Sequence[tuple[Strip, Interval]], unit: str) -> go.Scatter:
    """The mean of each strip that has an interval."""
    return go.Scatter(
        name="mean with 95% interval",
        x=[interval.mean for _, interval in pairs],
        y=[frame.plain_text(strip.name) for strip, _ in pairs],
        mode="markers",
        marker={
            "size": 16,
            "symbol": "line-ns-open",
            "line": {"width": 3},
        },
        error_x={
            "type": "data",
            "array": [interval.half_width for _, interval in pairs],
            "thickness": 2,
            "width": 6,
        },
        customdata=[
            frame.plain_text(
                f"mean {numbers.with_unit(interval.mean, unit)} "
                f"± {numbers.amount(interval.half_width, unit)}, {interval.count} repeats"
            )
            for _, interval in pairs
        ],
        hovertemplate="%{y}<br>%{customdata}<extra></extra>",
        meta={"series": 2, "links": [strip.link for strip, _ in pairs]},
    )


def _in_shown_unit(strip: Strip, unit: str) -> Strip:
    interval = strip.interval
    return replace(
        strip,
        values=[numbers.scaled(value, unit) for value in strip.values],
        interval=interval
        and replace(
            interval,
            mean=numbers.scaled(interval.mean, unit),
            half_width=numbers.scaled(interval.half_width, unit),
        ),
    )
