"""Horizontal bars: one value for each contender."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.ceilings import Ceilings, put
from fsbench_web.figures.frame import ROW_PX, bar_layout, figure, plain_text

NOT_STATED = "not stated"
INTERVALS = "lines: 95% intervals of the means"
MEANS = "bars: means of repeats"
DOTS = "dots: repeats"
MOST_DOTS = 2000
"""In one figure; beyond it none is drawn, instead of some."""
CUT = ", cut at 0"
VALUE = "value"
_LETTER_PX = 7.5


def best_case(
    labels: Sequence[str],
    values: Sequence[float | None],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    best: Sequence[bool] | None = None,
    errors: Sequence[tuple[float, float] | None] | None = None,
    names: Sequence[str] | None = None,
    row_px: int = ROW_PX,
    links: Sequence[str] | None = None,
    repeats: Sequence[Sequence[float]] | None = None,
    scores: Sequence[float | None] | None = None,
    among: Iterable[str] = (),
    counts: Sequence[int | None] | None = None,
    ceilings: Ceilings | None = None,
) -> go.Figure:
    """One bar for each contender, the first on top, the best marked in words.

    ``values`` are in ``unit``; None draws no bar and says so. ``best`` says which are best; without
    it the best are found here, ties included. ``errors`` are (low, high) ends of an interval in
    ``unit``, drawn around its own middle. ``names`` decide the colours where they differ from the
    labels (a contender under a configuration's label), ``among`` all that the page shows.
    ``row_px`` is the height of a row. ``links`` are where a click on a bar leads. ``repeats`` in
    ``unit`` are dots on the bar; where its value is their mean, ``scores`` has the score that this
    is not, which is only said, and ``counts`` of how many runs each is, where that is known.
    ``ceilings`` in ``unit`` are what LUNs do by themselves. Raises ValueError when the lengths
    differ.
    """
    lun_ceilings = ceilings or Ceilings((None,) * len(labels))
    chosen = (best, errors, names, links, repeats, scores, counts, lun_ceilings.values)
    extras = [extra for extra in chosen if extra is not None]
    if any(len(sequence) != len(labels) for sequence in (values, *extras)):
        raise ValueError("all that is said of the bars must have the same length")
    bars = _bars(
        labels,
        values,
        unit,
        lower_is_better,
        best,
        errors or [None] * len(labels),
        repeats or [()] * len(labels),
        scores or [None] * len(labels),
        counts or [None] * len(labels),
        lun_ceilings.shares or [""] * len(labels),
    )
    lun_ceilings = lun_ceilings.in_shown_unit(unit)
    unit = numbers.unit_name(unit)
    has_dots = 0 < sum(len(bar.repeats) for bar in bars) <= MOST_DOTS
    intervals = [(bar.label, bar.ends) for bar in bars if bar.ends is not None]
    series = [style.series for style in palette.styles(names or labels, among)]
    trace = _trace(bars, series, links)
    traces = [trace]
    direction = "less is better" if lower_is_better else "more is better"
    layout = bar_layout(
        title=title,
        x_title=f"{unit_in_words(unit)}, {direction}"
        + drawn_in_words(any(bar.is_mean for bar in bars), has_dots, bool(intervals)),
        rows=len(bars),
        summary=f"{title}: bar chart, {direction}. {'; '.join(bar.in_words for bar in bars)}.",
        gaps=gaps_of(labels, values),
        row_px=row_height_px(labels, row_px),
        ticks={plain_text(label): plain_text(in_lines(label)) for label in labels},
    )
    if intervals:
        # Whiskers reach anywhere: the numbers stand beside the plot, as on paper.
        trace["textposition"] = "none"
        traces.append(_intervals(intervals, unit))
        if links:
            interval_links = [link for link, bar in zip(links, bars, strict=True) if bar.ends]
            traces[-1]["meta"] = {"role": "interval", "links": interval_links}
        if has_dots:
            traces.append(_dots(bars, links))
        _add_column(layout, list(zip(trace["y"], trace["text"], strict=True)))
        _cut_at_zero(layout, bars)
    put(traces, layout, lun_ceilings, labels, unit)
    return figure(traces, layout)


class _Bar(NamedTuple):
    """One row; its numbers, ``ends`` of its interval among them, in ``unit``, which is shown.

    ``score`` is None where the value is it, and not the mean of the ``repeats``.
    """

    label: str
    value: float | None
    is_best: bool
    ends: tuple[float, float] | None
    unit: str
    least_decimals: int
    repeats: tuple[float, ...] = ()
    score: float | None = None
    runs: int | None = None
    share: str = ""

    @property
    def is_mean(self) -> bool:
        return self.score is not None

    @property
    def value_lines(self) -> list[str]:
        """Its number with the unit, and the score beside a mean."""
        if self.score is None:
            return [self.with_unit]
        score = numbers.with_unit(self.score, self.unit)
        return [f"mean of {len(self.repeats)} repeats {self.with_unit}", f"score {score}"]

    @property
    def hover_lines(self) -> list[str]:
        """What a pointer is told: value, n and interval."""
        count = None if self.is_mean else len(self.repeats) or self.runs
        interval_words = f"95% interval {_ends_in_words(self.ends, self.unit)}" if self.ends else ""
        details = (f"n = {count}" if count else "", interval_words, self.share)
        return [*self.value_lines, *filter(None, details)]

    @property
    def text(self) -> str:
        """What stands on it or beside it."""
        if self.value is None:
            return f"<b>{NOT_STATED}</b>" if self.is_best else NOT_STATED
        written = numbers.amount(self.value, self.unit, self.least_decimals)
        return f"<b>{written} best</b>" if self.is_best else written

    @property
    def with_unit(self) -> str:
        return NOT_STATED if self.value is None else numbers.with_unit(self.value, self.unit)

    @property
    def in_words(self) -> str:
        """For the text alternative."""
        is_best = " (best)" if self.is_best else ""
        interval_words = (
            f", 95% interval {_ends_in_words(self.ends, self.unit)}" if self.ends else ""
        )
        value, *score = self.value_lines
        return ", ".join([f"{self.label} {value}{is_best}{interval_words}", *score])


def _bars(
    labels: Sequence[str],
    values: Sequence[float | None],
    unit: str,
    lower_is_better: bool,
    best: Sequence[bool] | None,
    errors: Sequence[tuple[float, float] | None],
    repeats: Sequence[Sequence[float]],
    scores: Sequence[float | None],
    counts: Sequence[int | None],
    shares: Sequence[str],
) -> list[_Bar]:
    """The rows, from ``unit`` into the one that is shown."""
    scaled = [None if value is None else numbers.scaled(value, unit) for value in values]
    ends = [
        error and (numbers.scaled(error[0], unit), numbers.scaled(error[1], unit))
        for error in errors
    ]
    best = _best(scaled, lower_is_better) if best is None else best
    unit_name, least = numbers.unit_name(unit), numbers.least_decimals(scaled)
    return [
        _Bar(
            label,
            value,
            is_best,
            bar_ends,
            unit_name,
            least,
            tuple(numbers.scaled(repeat, unit) for repeat in bar_repeats),
            None if score is None else numbers.scaled(score, unit),
            count,
            share,
        )
        for label, value, is_best, bar_ends, bar_repeats, score, count, share in zip(
            labels, scaled, best, ends, repeats, scores, counts, shares, strict=True
        )
    ]


def _best(values: Sequence[float | None], lower_is_better: bool) -> list[bool]:
    """Which are best, ties included."""
    measured = [value for value in values if value is not None]
    target = (min if lower_is_better else max)(measured, default=None)
    return [value is not None and value == target for value in values]


def _trace(
    bars: Sequence[_Bar], series: Sequence[int], links: Sequence[str] | None
) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": [bar.value for bar in bars],
        "y": [plain_text(bar.label) for bar in bars],
        "orientation": "h",
        "text": [bar.text for bar in bars],
        "textposition": "auto",
        "cliponaxis": False,
        "marker": {"color": [palette.colour(number) for number in series]},
        "meta": {"series": series} | ({"links": list(links)} if links else {}),
        "hovertemplate": [
            "<br>".join(map(plain_text, (bar.label, *bar.hover_lines))) + "<extra></extra>"
            for bar in bars
        ],
    }


def _cut_at_zero(layout: dict[str, Any], bars: Sequence[_Bar]) -> None:
    """Where intervals reach below zero and no value does, the axis begins at zero and says so.

    What is measured is not below zero, and half a plot of it would hide what is above.
    """
    ends = [end for bar in bars for end in bar.ends or ()]
    values = [value for bar in bars for value in (bar.value, *bar.repeats) if value is not None]
    if min(ends) < 0 <= min(values, default=0):
        layout["xaxis"]["range"] = [0, max(*ends, *values) * 1.05]
        layout["xaxis"]["title"]["text"] += CUT


def _add_column(layout: dict[str, Any], texts: Sequence[tuple[str, str]]) -> None:
    """A column of the values at the right of the plot, [(row, its text)]."""
    width = 12 + round(_LETTER_PX * max(len(_without_bold(text)) for _, text in texts))
    layout["margin"] = {**layout["margin"], "r": width}
    layout["annotations"] += [
        {
            "name": VALUE,
            "xref": "paper",
            "x": 1,
            "xanchor": "right",
            "xshift": width - 4,
            "y": row,
            "text": text,
            "showarrow": False,
        }
        for row, text in texts
        if text != NOT_STATED
    ]


def _without_bold(text: str) -> str:
    return text.removeprefix("<b>").removesuffix("</b>")


def _intervals(intervals: Sequence[tuple[str, tuple[float, float]]], unit: str) -> dict[str, Any]:
    """Whiskers around a dot in the middle of each interval, which need not be the end of its bar.

    A score is not always the mean of its repeats: a maximum is of all of them.
    """
    return {
        "type": "scatter",
        "x": [(low + high) / 2 for _, (low, high) in intervals],
        "y": [plain_text(label) for label, _ in intervals],
        "mode": "markers",
        "marker": {"size": 4},
        "meta": {"role": "interval"},
        "error_x": {
            "type": "data",
            "array": [(high - low) / 2 for _, (low, high) in intervals],
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": [
            f"{plain_text(label)}<br>95% interval {plain_text(_ends_in_words(ends, unit))}"
            "<extra></extra>"
            for label, ends in intervals
        ],
    }


def _dots(bars: Sequence[_Bar], links: Sequence[str] | None) -> dict[str, Any]:
    """Every repeat, on its bar; each leads where the bar does."""
    dots = [(bar, value, place) for place, bar in enumerate(bars) for value in bar.repeats]
    link_meta = {"links": [links[place] for _, _, place in dots]} if links else {}
    return {
        "type": "scatter",
        "x": [value for _, value, _ in dots],
        "y": [plain_text(bar.label) for bar, _, _ in dots],
        "mode": "markers",
        "marker": {"size": 6},
        "meta": {"role": "repeats"} | link_meta,
        "hovertemplate": [
            f"{plain_text(bar.label)}<br>repeat {plain_text(numbers.with_unit(value, bar.unit))}"
            "<extra></extra>"
            for bar, value, _ in dots
        ],
    }


def _ends_in_words(ends: tuple[float, float], unit: str) -> str:
    return numbers.span(*ends, unit)


def row_height_px(labels: Sequence[str], least_px: int = ROW_PX) -> int:
    """How high the rows of a figure are, so that labels of several lines do not touch."""
    lines = max((in_lines(label).count("\n") + 1 for label in labels), default=1)
    return max(least_px, 16 * lines + 6)


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
