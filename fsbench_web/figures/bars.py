"""Horizontal bars: one value for each contender, what a text states, write and read together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.ceilings import LINE_PX, Ceilings, put
from fsbench_web.figures.frame import (
    ROW_PX,
    bar_chart_px,
    bar_layout,
    direction,
    plain_text,
    summary,
)

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
    """One contender and its value; None draws no bar and says so.

    ``ends`` of the 95% interval are drawn around their own middle. Of ``repeats`` each is a dot;
    the value is their mean where ``score`` is another number, which is only said. ``name`` decides
    the colour where it differs from the label (a contender under a configuration's label).
    ``link`` is where a click leads, ``runs`` how many stand behind it. Numbers are in the unit of
    the figure.
    """

    label: str
    value: float | None
    is_best: bool = False
    ends: tuple[float, float] | None = None
    repeats: tuple[float, ...] = ()
    score: float | None = None
    name: str = ""
    link: str = ""
    runs: int | None = None

    def scaled(self, unit: str) -> "Bar":
        """From ``unit`` into the one that people read."""

        def number(value: float | None) -> float | None:
            return None if value is None else numbers.scaled(value, unit)

        return replace(
            self,
            value=number(self.value),
            ends=self.ends
            and (numbers.scaled(self.ends[0], unit), numbers.scaled(self.ends[1], unit)),
            repeats=tuple(numbers.scaled(repeat, unit) for repeat in self.repeats),
            score=number(self.score),
        )

    def value_lines(self, unit: str) -> list[str]:
        """Its number with the unit, and the score beside a mean."""
        value = NOT_STATED if self.value is None else numbers.with_unit(self.value, unit)
        if self.score is None:
            return [value]
        score = numbers.with_unit(self.score, unit)
        return [f"mean of {len(self.repeats)} repeats {value}", f"score {score}"]

    def interval_words(self, unit: str) -> str:
        return f"95% interval {numbers.span(*self.ends, unit)}" if self.ends else ""

    def hover_text(self, unit: str, share: str) -> str:
        """What a pointer is told: value, n, interval and the share of the LUN."""
        count = None if self.score is not None else len(self.repeats) or self.runs
        details = (f"n = {count}" if count else "", self.interval_words(unit), share)
        parts = (self.label, *self.value_lines(unit), *filter(None, details))
        return "<br>".join(map(plain_text, parts)) + "<extra></extra>"

    def words(self, unit: str) -> str:
        """For the text alternative."""
        value, *score = self.value_lines(unit)
        value += " (best)" if self.is_best else ""
        return ", ".join(filter(None, [value, self.interval_words(unit), *score]))

    def text(self, unit: str, least_decimals: int) -> str:
        """What stands on it or beside it."""
        if self.value is None:
            return f"<b>{NOT_STATED}</b>" if self.is_best else NOT_STATED
        written = numbers.amount(self.value, unit, least_decimals)
        return f"<b>{written} best</b>" if self.is_best else written


def best_case(
    bars: Sequence[Bar],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    among: Iterable[str] = (),
    ceilings: Ceilings | None = None,
) -> go.Figure:
    """One bar for each contender, the first on top, the best marked in words.

    ``among`` are the names of all that the page shows. ``ceilings`` in ``unit``, one a bar, are
    what LUNs do by themselves.
    """
    lun_ceilings = (ceilings or Ceilings((None,) * len(bars))).in_shown_unit(unit)
    bars = [bar.scaled(unit) for bar in bars]
    unit = numbers.unit_name(unit)
    labels = [bar.label for bar in bars]
    has_dots = 0 < sum(len(bar.repeats) for bar in bars) <= MOST_DOTS
    with_interval = [bar for bar in bars if bar.ends is not None]
    bar_trace = _trace(bars, unit, among, lun_ceilings.shares or ("",) * len(bars))
    traces = [bar_trace]
    are_means = any(bar.score is not None for bar in bars)
    layout = bar_layout(
        title=title,
        x_title=f"{unit_in_words(unit)}, {direction(lower_is_better)}"
        + drawn_in_words(are_means, has_dots, bool(with_interval)),
        rows=len(bars),
        summary=summary(
            title, "bar chart", [(bar.label, bar.words(unit)) for bar in bars], lower_is_better
        ),
        gaps=gaps_of(labels, [bar.value for bar in bars]),
        row_px=row_height_px(labels),
        ticks={plain_text(label): plain_text(in_lines(label)) for label in labels},
    )
    if with_interval:
        # Whiskers reach anywhere: static/js/figures.js writes the numbers beside the plot.
        bar_trace["textposition"] = "none"
        traces.append(_intervals(with_interval, unit))
        if has_dots:
            traces.append(_dots(bars, unit))
        _cut_at_zero(layout, bars)
    put(traces, layout, lun_ceilings, labels, unit)
    layout["height"] = height_px(labels, has_ceilings=lun_ceilings.is_known)
    return go.Figure(traces, layout)


def height_px(labels: Sequence[str], *, has_ceilings: bool) -> int:
    """How high ``best_case`` is: a page keeps so much room for a chart that comes later."""
    return bar_chart_px(len(labels), row_height_px(labels)) + (LINE_PX if has_ceilings else 0)


def _trace(
    bars: Sequence[Bar], unit: str, among: Iterable[str], shares: Sequence[str]
) -> dict[str, Any]:
    least = numbers.least_decimals([bar.value for bar in bars])
    styles = palette.styles([bar.name or bar.label for bar in bars], among)
    return {
        "type": "bar",
        "x": [bar.value for bar in bars],
        "y": [plain_text(bar.label) for bar in bars],
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
    """Where intervals reach below zero and no value does, the axis begins at zero and says so.

    What is measured is not below zero, and half a plot of it would hide what is above.
    """
    ends = [end for bar in bars for end in bar.ends or ()]
    values = [value for bar in bars for value in (bar.value, *bar.repeats) if value is not None]
    if min(ends) < 0 <= min(values, default=0):
        layout["xaxis"]["range"] = [0, max(*ends, *values) * 1.05]
        layout["xaxis"]["title"]["text"] += CUT


def _intervals(bars: Sequence[Bar], unit: str) -> dict[str, Any]:
    """Whiskers around a dot in the middle of each interval, which need not be the end of its bar.

    A score is not always the mean of its repeats: a maximum is of all of them.
    """
    ends = [bar.ends for bar in bars if bar.ends is not None]
    return {
        "type": "scatter",
        "x": [(low + high) / 2 for low, high in ends],
        "y": [plain_text(bar.label) for bar in bars],
        "mode": "markers",
        "marker": {"size": 4},
        "meta": _with_links({"role": "interval"}, bars),
        "error_x": {
            "type": "data",
            "array": [(high - low) / 2 for low, high in ends],
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": [
            f"{plain_text(bar.label)}<br>{plain_text(bar.interval_words(unit))}<extra></extra>"
            for bar in bars
        ],
    }


def _dots(bars: Sequence[Bar], unit: str) -> dict[str, Any]:
    """Every repeat, on its bar; each leads where the bar does."""
    dots = [(bar, value) for bar in bars for value in bar.repeats]
    return {
        "type": "scatter",
        "x": [value for _, value in dots],
        "y": [plain_text(bar.label) for bar, _ in dots],
        "mode": "markers",
        "marker": {"size": 6},
        "meta": _with_links({"role": "repeats"}, [bar for bar, _ in dots]),
        "hovertemplate": [
            f"{plain_text(bar.label)}<br>repeat {plain_text(numbers.with_unit(value, unit))}"
            "<extra></extra>"
            for bar, value in dots
        ],
    }


def row_height_px(labels: Sequence[str]) -> int:
    """How high the rows of a figure are, so that labels of several lines do not touch."""
    lines = max((in_lines(label).count("\n") + 1 for label in labels), default=1)
    return max(ROW_PX, 16 * lines + 6)


@lru_cache(maxsize=4096)
def in_lines(label: str, width: int = 24) -> str:
    """A configuration's long label in up to three lines, broken behind its underscores.

    What is longer ends in an ellipsis; the text that appears on a bar has it whole.
    """
    lines = [""]
    for part in label.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    if len(lines) > 3:
        lines = [*lines[:2], lines[2] + "…"]
    return "\n".join(line if len(line) <= width * 2 else line[: width * 2] + "…" for line in lines)


def drawn_in_words(are_means: bool, has_dots: bool, has_intervals: bool) -> str:
    """What is drawn, for behind the words of an axis; "" of bars alone."""
    drawn = ((MEANS, are_means), (DOTS, has_dots), (INTERVALS, has_intervals))
    words = ", ".join(word for word, is_drawn in drawn if is_drawn)
    return words and f"; {words}"


def gaps_of(labels: Sequence[str], values: Sequence[float | None]) -> list[tuple[str, str]]:
    """The rows without a bar: a missing value is never a bar of zero."""
    return [
        (label, NOT_STATED) for label, value in zip(labels, values, strict=True) if value is None
    ]


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
    """Bars of what a text states of a figure whose values were never printed; less is better.

    A value that is only a lower bound ("more than 240 s") is drawn hatched and says so; None is
    "not stated" and has no bar.
    """
    texts = [
        NOT_STATED
        if value is None
        else ("more than " if bound else "") + plain_text(numbers.with_unit(value, unit))
        for value, bound in zip(values, is_lower_bound, strict=True)
    ]
    series = palette.series_of(labels)
    bar = go.Bar(
        x=list(values),
        y=[plain_text(label) for label in labels],
        orientation="h",
        text=texts,
        textposition="outside",
        cliponaxis=False,
        marker={"pattern": {"shape": ["/" if bound else "" for bound in is_lower_bound]}},
        meta={"series": series},
        hovertemplate=[
            f"{plain_text(label)}<br>{text}<extra></extra>"
            for label, text in zip(labels, texts, strict=True)
        ],
    )
    chart = go.Figure(
        [bar],
        bar_layout(
            title=title,
            x_title=f"{unit_in_words(unit)}, less is better"
            + ("; hatched: at least" if any(is_lower_bound) else ""),
            rows=len(labels),
            summary=summary(title, "bar chart", zip(labels, texts, strict=True), True),
            gaps=gaps_of(labels, values),
        ),
    )
    longest = max((value for value in values if value is not None), default=None)
    if longest is not None:
        # Room for the words beside the longest bar.
        chart.layout.xaxis.range = [0, longest * 1.5]
    return chart


def read_write(
    labels: Sequence[str],
    writes: Sequence[float | None],
    reads: Sequence[float | None],
    unit: str,
    title: str,
    links: Sequence[tuple[str, str]] | None = None,
    halves: tuple[str, str] = ("Write", "Read"),
) -> go.Figure:
    """Write and read scores on top of each other, largest sum first. Values in ``unit``.

    A contender without both halves has no sum and comes last; a missing half is not drawn.
    ``links`` are where a click on either half leads; ``halves`` name them.
    Raises ValueError when the lengths differ.
    """
    rows = [
        (label, write, read, None if write is None or read is None else write + read, link)
        for label, write, read, link in zip(
            labels, writes, reads, links or [("", "")] * len(labels), strict=True
        )
    ]
    rows.sort(key=lambda row: (row[3] is None, -(row[3] or 0)))
    names = [row[0] for row in rows]

    columns: list[list[float | None]] = [[row[1] for row in rows], [row[2] for row in rows]]

    def half_bars(place: int, series: int) -> go.Bar:
        name, values = halves[place], columns[place]
        return go.Bar(
            name=name,
            x=list(values),
            y=[plain_text(name) for name in names],
            orientation="h",
            text=[numbers.compact(value) for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[plain_text(numbers.with_unit(value, unit)) for value in values],
            hovertemplate="%{y}<br>" + name.lower() + ": %{customdata}<extra></extra>",
            meta={"series": series} | ({"links": [row[4][place] for row in rows]} if links else {}),
        )

    return go.Figure(
        [
            half_bars(0, WRITE_SERIES),
            half_bars(1, READ_SERIES),
        ],
        bar_layout(
            title=title,
            x_title=f"{unit}, {halves[0].lower()} plus {halves[1].lower()}, more is better",
            rows=len(rows),
            summary=summary(
                title,
                "stacked bar chart",
                [
                    (
                        name,
                        f"{halves[0].lower()} {numbers.with_unit(write, unit)} plus "
                        f"{halves[1].lower()} {numbers.with_unit(read, unit)} is "
                        f"{numbers.with_unit(total, unit)}",
                    )
                    for name, write, read, total, _ in rows
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
                    "x": total,
                    "xanchor": "left",
                    "xshift": 6,
                    "y": plain_text(name),
                    "text": f"<b>{numbers.compact(total)}</b>",
                    "showarrow": False,
                }
                for name, _, _, total, _ in rows
                if total is not None
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
