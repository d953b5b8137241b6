"""Horizontal bars: one value for each contender, what a text states, write and read together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.figures import frame, palette
from fsbench_web.figures.ceilings import LINE_PX, Ceilings, put

NOT_STATED = "not stated"
INTERVALS = "lines: 95% intervals of the means"
MEANS = "bars: means of repeats"
DOTS = "dots: repeats"
MOST_DOTS = 2000
"""In one figure; beyond it none is drawn, instead of some."""
CUT = ", cut at 0"
WRITE_SERIES, READ_SERIES = 1, 5


@dataclass(frozen=True)
class Bar:
    """One contender and its value in the unit of the figure; ``repeats`` are dots.

    ``score``: added in words if the value is the mean of repeats. ``link``: where a click leads.
    """

    label: str
    value: float
    is_best: bool = False
    ends: tuple[float, float] | None = None
    repeats: tuple[float, ...] = ()
    score: float | None = None
    link: str = ""
    runs: int | None = None

    def value_lines(self, unit: str) -> list[str]:
        """Its number with the unit, and the score of a mean."""
        value = numbers.with_unit(self.value, unit)
        if self.score is None:
            return [value]
        score = numbers.with_unit(self.score, unit)
        return [f"mean of {len(self.repeats)} repeats {value}", f"score {score}"]

    def interval_words(self, unit: str) -> str:
        return f"95% interval {numbers.span(*self.ends, unit)}" if self.ends else ""

    def hover_text(self, unit: str, share: str) -> str:
        """The text at the pointer: value, n, interval and the share of the LUN."""
        count = None if self.score is not None else len(self.repeats) or self.runs
        details = (f"n = {count}" if count else "", self.interval_words(unit), share)
        return hover(self.label, *self.value_lines(unit), *details)

    def words(self, unit: str) -> str:
        """For the text alternative."""
        value, *score = self.value_lines(unit)
        value += " (best)" if self.is_best else ""
        return ", ".join(filter(None, [value, self.interval_words(unit), *score]))

    def text(self, unit: str, least_decimals: int) -> str:
        """What stands on it or next to it."""
        written = numbers.amount(self.value, unit, least_decimals)
        return f"<b>{written} best</b>" if self.is_best else written


def hover(*lines: str) -> str:
    """A template of fixed text, a line each."""
    return "<br>".join(map(frame.plain_text, filter(None, lines))) + "<extra></extra>"


def best_case(
    bars: Sequence[Bar],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    among: Iterable[str] = (),
    ceilings: Ceilings | None = None,
) -> go.Figure:
    """One bar for each contender, the first on top, the best marked in words.

    ``unit``: as people read it, of bars and ``ceilings``. ``among``: all names of the page.
    """
    ceilings = ceilings or Ceilings((None,) * len(bars))
    labels = [bar.label for bar in bars]
    has_dots = 0 < sum(len(bar.repeats) for bar in bars) <= MOST_DOTS
    with_interval = [bar for bar in bars if bar.ends is not None]
    bar_trace = _trace(bars, unit, among, ceilings.shares or ("",) * len(bars))
    traces = [bar_trace]
    drawn = (
        (MEANS, any(bar.score is not None for bar in bars)),
        (DOTS, has_dots),
        (INTERVALS, with_interval),
    )
    words = ", ".join(word for word, is_drawn in drawn if is_drawn)
    layout = frame.bar_layout(
        title=title,
        x_title=f"{unit_in_words(unit)}, {frame.direction(lower_is_better)}"
        + (words and f"; {words}"),
        rows=len(bars),
        summary=frame.summary(
            title, "bar chart", [(bar.label, bar.words(unit)) for bar in bars], lower_is_better
        ),
        row_px=row_height_px(labels),
        ticks={frame.plain_text(label): frame.plain_text(in_lines(label)) for label in labels},
    )
    if with_interval:
        # Whiskers reach anywhere: static/js/figures.js writes the numbers beside the plot.
        bar_trace["textposition"] = "none"
        traces.append(_intervals(with_interval, unit))
        if has_dots:
            traces.append(_dots(bars, unit))
        _cut_at_zero(layout, bars)
    put(traces, layout, ceilings, labels, unit)
    layout["height"] = height_px(labels, has_ceilings=ceilings.is_known)
    return go.Figure(traces, layout)


def height_px(labels: Sequence[str], *, has_ceilings: bool) -> int:
    """How high ``best_case`` is: a page keeps so much room for a chart that comes later."""
    return frame.bar_chart_px(len(labels), row_height_px(labels)) + (LINE_PX if has_ceilings else 0)


def _trace(
    bars: Sequence[Bar], unit: str, among: Iterable[str], shares: Sequence[str]
) -> dict[str, Any]:
    least = numbers.least_decimals([bar.value for bar in bars])
    styles = palette.styles([bar.label for bar in bars], among)
    return {
        "type": "bar",
        "x": [bar.value for bar in bars],
        "y": [frame.plain_text(bar.label) for bar in bars],
        "orientation": "h",
        "text": [bar.text(unit, least) for bar in bars],
        "textposition": "auto",
        "cliponaxis": False,
        "meta": _with_links({"series": [style.series for style in styles]}, bars),
        "hovertemplate": [
            bar.hover_text(unit, share) for bar, share in zip(bars, shares, strict=True)
        ],
    }


def _with_links(meta: dict[str, Any], bars: Sequence[Bar]) -> dict[str, Any]:
    links = [bar.link for bar in bars]
    return meta | ({"links": links} if any(links) else {})


def _cut_at_zero(layout: dict[str, Any], bars: Sequence[Bar]) -> None:
    """Start the axis at zero where only intervals reach below it, and say so."""
    ends = [end for bar in bars for end in bar.ends or ()]
    values = [value for bar in bars for value in (bar.value, *bar.repeats)]
    if min(ends) < 0 <= min(values):
        layout["xaxis"]["range"] = [0, max(*ends, *values) * 1.05]
        layout["xaxis"]["title"]["text"] += CUT


def _intervals(bars: Sequence[Bar], unit: str) -> dict[str, Any]:
    """Whiskers around the middle of each interval: not each score is the mean of its repeats."""
    ends = [bar.ends for bar in bars if bar.ends is not None]
    whiskers = {
        "type": "data",
        "array": [(high - low) / 2 for low, high in ends],
        "thickness": 1.5,
        "width": 4,
    }
    middles = [(low + high) / 2 for low, high in ends]
    words = [bar.interval_words(unit) for bar in bars]
    return _marks("interval", 4, bars, middles, words, error_x=whiskers)


def _dots(bars: Sequence[Bar], unit: str) -> dict[str, Any]:
    """Every repeat, on its bar; each leads where the bar does."""
    dots = [(bar, value) for bar in bars for value in bar.repeats]
    words = [f"repeat {numbers.with_unit(value, unit)}" for _, value in dots]
    return _marks("repeats", 6, [bar for bar, _ in dots], [value for _, value in dots], words)


def _marks(
    role: str,
    size: int,
    bars: Sequence[Bar],
    xs: Sequence[float],
    words: Sequence[str],
    **more: Any,
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": list(xs),
        "y": [frame.plain_text(bar.label) for bar in bars],
        "mode": "markers",
        "marker": {"size": size},
        "meta": _with_links({"role": role}, bars),
        **more,
        "hovertemplate": [hover(bar.label, text) for bar, text in zip(bars, words, strict=True)],
    }


def row_height_px(labels: Sequence[str]) -> int:
    """How high the rows of a figure are, so that labels of several lines do not touch."""
    lines = max((in_lines(label).count("\n") + 1 for label in labels), default=1)
    return max(frame.ROW_PX, 16 * lines + 6)


@lru_cache(maxsize=4096)
def in_lines(label: str) -> str:
    """A long label in up to three lines, broken behind its underscores."""
    width = 24
    lines = [""]
    for part in label.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    if len(lines) > 3:
        lines = [*lines[:2], lines[2] + "…"]
    return "\n".join(line if len(line) <= width * 2 else line[: width * 2] + "…" for line in lines)


def unit_in_words(unit: str) -> str:
    """For the words of an axis."""
    return {"s": "seconds", "%": "percent", "score": "sum of the six categories", "": "value"}.get(
        unit, unit
    )


def stated_values(
    labels: Sequence[str],
    values: Sequence[float | None],
    is_lower_bound: Sequence[bool],
    unit: str,
    title: str,
) -> go.Figure:
    """Bars of what a text states; None has no bar, a lower bound is hatched. Less is better."""
    texts = [
        NOT_STATED
        if value is None
        else ("more than " if bound else "") + numbers.with_unit(value, unit)
        for value, bound in zip(values, is_lower_bound, strict=True)
    ]
    bar = go.Bar(
        x=list(values),
        y=[frame.plain_text(label) for label in labels],
        orientation="h",
        text=list(map(frame.plain_text, texts)),
        textposition="outside",
        cliponaxis=False,
        marker={"pattern": {"shape": ["/" if bound else "" for bound in is_lower_bound]}},
        meta={"series": [style.series for style in palette.styles(labels)]},
        hovertemplate=[hover(label, text) for label, text in zip(labels, texts, strict=True)],
    )
    chart = go.Figure(
        [bar],
        frame.bar_layout(
            title=title,
            x_title=f"{unit_in_words(unit)}, less is better"
            + ("; hatched: at least" if any(is_lower_bound) else ""),
            rows=len(labels),
            summary=frame.summary(title, "bar chart", zip(labels, texts, strict=True), True),
            gaps=[
                (label, NOT_STATED)
                for label, value in zip(labels, values, strict=True)
                if value is None
            ],
        ),
    )
    longest = max((value for value in values if value is not None), default=None)
    if longest is not None:
        # Room for the words beside the longest bar.
        chart.layout.xaxis.range = [0, longest * 1.5]
    return chart


class Halves(NamedTuple):
    """What one contender wrote and read; a click on either half leads to its link."""

    name: str
    write: float | None
    read: float | None
    links: tuple[str, str] = ("", "")

    @property
    def total(self) -> float | None:
        return None if self.write is None or self.read is None else self.write + self.read


def read_write(
    pairs: Sequence[Halves], unit: str, title: str, halves: tuple[str, str] = ("Write", "Read")
) -> go.Figure:
    """Write and read scores on top of each other, largest sum first. Values in ``unit``.

    A contender without both halves comes last, without a sum. ``halves``: their names.
    """
    rows = sorted(pairs, key=lambda pair: (pair.total is None, -(pair.total or 0)))
    has_links = any(any(pair.links) for pair in rows)

    def half_bars(place: int, series: int) -> go.Bar:
        values = [(pair.write, pair.read)[place] for pair in rows]
        links = {"links": [pair.links[place] for pair in rows]} if has_links else {}
        return go.Bar(
            name=halves[place],
            x=values,
            y=[frame.plain_text(pair.name) for pair in rows],
            orientation="h",
            text=[numbers.compact(value) for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[frame.plain_text(numbers.with_unit(value, unit)) for value in values],
            hovertemplate="%{y}<br>" + halves[place].lower() + ": %{customdata}<extra></extra>",
            meta={"series": series} | links,
        )

    return go.Figure(
        [half_bars(0, WRITE_SERIES), half_bars(1, READ_SERIES)],
        frame.bar_layout(
            title=title,
            x_title=f"{unit}, {halves[0].lower()} plus {halves[1].lower()}, more is better",
            rows=len(rows),
            summary=frame.summary(
                title,
                "stacked bar chart",
                [
                    (
                        pair.name,
                        f"{halves[0].lower()} {numbers.with_unit(pair.write, unit)} plus "
                        f"{halves[1].lower()} {numbers.with_unit(pair.read, unit)} is "
                        f"{numbers.with_unit(pair.total, unit)}",
                    )
                    for pair in rows
                ],
                lower_is_better=False,
            ),
        )
        | {
            "barmode": "stack",
            # A half that is too narrow for its number goes without, rather than in tiny letters.
            "uniformtext": {"minsize": 9, "mode": "hide"},
            # What the rows are ordered by stands behind each; a half that is missing has no sum.
            "annotations": [
                {
                    "x": pair.total,
                    "xanchor": "left",
                    "xshift": 6,
                    "y": frame.plain_text(pair.name),
                    "text": f"<b>{numbers.compact(pair.total)}</b>",
                    "showarrow": False,
                }
                for pair in rows
                if pair.total is not None
            ],
            "showlegend": True,
            "legend": {
                "orientation": "h",
                "x": 1,
                "xanchor": "right",
                "y": 1.02,
                "yanchor": "bottom",
                "traceorder": "normal",
            },
        },
    )


# A strip for each contender: every repeat a point, their mean with its 95% interval above.

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
