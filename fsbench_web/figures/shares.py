"""How values are distributed: which share of all is at most a value, one line a contender.

Made of (value, share) pairs, so that percentiles that a tool printed and histograms that were kept
whole are drawn by one code. Nothing is known between two percentiles: lines join them for the eye.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import axis, figure, line_layout, plain_text
from fsbench_web.figures.lines import (
    LINEAR,
    MOST_LINES,
    Point,
    direction,
    line_trace,
    log_axis,
    whiskers,
    y_axis,
)

MOST_POINTS = 250
"""Of a histogram: more nobody can see."""
_TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
_SAID = (0.5, 0.99, 0.999)
"""Of a histogram the text alternative says these."""


class ShareAt(NamedTuple):
    """``share`` (0 to 1) of all is at most ``value``; ``ends`` of the value's 95% interval."""

    value: float
    share: float
    ends: tuple[float, float] | None = None
    link: str = ""


@dataclass(frozen=True)
class Shares:
    """The pairs of one contender, in any order; ``is_whole`` of a histogram, drawn as steps."""

    name: str
    pairs: Sequence[ShareAt]
    is_whole: bool = False


def of_histogram(name: str, pairs: Iterable[tuple[float, float]]) -> Shares:
    """The (value, share) pairs of all bins."""
    return Shares(name, [ShareAt(value, share) for value, share in pairs], is_whole=True)


def percentiles(
    lines: Sequence[Shares], unit: str, title: str, among: Iterable[str] = (), scale: str = ""
) -> go.Figure:
    """Values upwards over a percentile axis, on which each further nine has the same room.

    What is at most all (100%) has no place on it. Raises ValueError for more than MOST_LINES.
    """
    lines = _shown_lines(lines, unit, along_shares=True)
    largest_share = max((pair.share for line in lines for pair in line.pairs), default=0.5)
    ticks = [share for share in _TICKS if share <= max(largest_share, 0.9)]
    percents = axis(
        "percentile",
        tickmode="array",
        tickvals=[_nines(share) for share in ticks],
        ticktext=[percent(share) for share in ticks],
        zeroline=False,
    )
    values = _value_axis(lines, unit, scale, cuts=True)
    summary = f"{title}: percentiles. {_in_words(lines, unit)}."
    return figure(
        _traces(lines, unit, among, along_shares=True),
        line_layout(title, percents, values, summary, showlegend=_has_legend(lines)),
    )


def cdf(
    lines: Sequence[Shares], unit: str, title: str, among: Iterable[str] = (), scale: str = ""
) -> go.Figure:
    """The cumulative share upwards over the values: further left is better. Raises ValueError."""
    lines = _shown_lines(lines, unit, along_shares=False)
    values = _value_axis(lines, unit, scale)
    values["rangemode"] = "normal" if scale != LINEAR else "tozero"
    percents = axis("share of all, %", standoff=12, range=[0, 102])
    summary = f"{title}: cumulative distribution. {_in_words(lines, unit)}."
    return figure(
        _traces(lines, unit, among, along_shares=False),
        line_layout(title, values, percents, summary, showlegend=_has_legend(lines)),
    )


def percent(share: float) -> str:
    """``99.9%``: as many digits as it takes."""
    return f"{round(100 * share, 7):g}%"


def _nines(share: float) -> float:
    return -math.log10(max(1 - share, 1e-9))


def _shown_lines(lines: Sequence[Shares], unit: str, *, along_shares: bool) -> list[Shares]:
    """The lines in the unit that people read; a percentile axis has no place for 100%."""
    if len(lines) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines cannot be told apart")
    return [
        replace(
            line,
            pairs=[
                pair._replace(
                    value=numbers.scaled(pair.value, unit),
                    ends=pair.ends
                    and (numbers.scaled(pair.ends[0], unit), numbers.scaled(pair.ends[1], unit)),
                )
                for pair in sorted(line.pairs, key=lambda pair: pair.share)
                if pair.share < 1 or not along_shares
            ],
        )
        for line in lines
    ]


def _value_axis(
    lines: Sequence[Shares], unit: str, scale: str, *, cuts: bool = False
) -> dict[str, Any]:
    """As ``lines.y_axis``; of histograms always logarithmic."""
    title = f"{numbers.unit_name(unit)}, {direction(lower_is_better=True)}"
    pairs = [pair for line in lines for pair in line.pairs]
    if any(line.is_whole for line in lines):
        return log_axis(title, [pair.value for pair in pairs])
    points = [Point(pair.share, pair.value, pair.ends) for pair in pairs]
    return y_axis(points, title, cuts=cuts, scale=scale)


def _has_legend(lines: Sequence[Shares]) -> bool:
    return len(lines) > 1 or not all(line.is_whole for line in lines)


def _in_words(lines: Sequence[Shares], unit: str) -> str:
    unit = numbers.unit_name(unit)
    return "; ".join(
        f"{line.name}: "
        + ", ".join(
            f"{numbers.with_unit(pair.value, unit)} at {percent(share)}"
            for share, pair in _said_pairs(line)
        )
        for line in lines
    )


def _said_pairs(line: Shares) -> list[tuple[float, ShareAt]]:
    """The pairs by the share that the text alternative says of them."""
    if not line.is_whole:
        return [(pair.share, pair) for pair in line.pairs]
    found = [(said, next((p for p in line.pairs if p.share >= said), None)) for said in _SAID]
    return [(said, pair) for said, pair in found if pair is not None]


def _traces(
    lines: Sequence[Shares], unit: str, among: Iterable[str], *, along_shares: bool
) -> list[dict[str, Any]]:
    styles = palette.styles([line.name for line in lines], among)
    is_alone = len(lines) == 1
    return [
        _trace(line, style, numbers.unit_name(unit), along_shares=along_shares, is_alone=is_alone)
        for line, style in zip(lines, styles, strict=True)
    ]


def _trace(
    line: Shares, style: palette.Style, unit: str, *, along_shares: bool, is_alone: bool
) -> dict[str, Any]:
    pairs = _thinned(line.pairs, along_shares=along_shares) if line.is_whole else line.pairs
    values = [pair.value for pair in pairs]
    positions = [_nines(pair.share) if along_shares else 100 * pair.share for pair in pairs]
    more: dict[str, Any] = {}
    if line.is_whole:
        dash = "solid" if is_alone else style.dash
        steps = {"color": style.colour, "dash": dash, "width": 2, "shape": "hv"}
        more = {"mode": "lines", "line": steps}
        values, positions = _rounded(values), _rounded(positions)
    if any(pair.ends for pair in pairs):
        points = [Point(pair.share, pair.value, pair.ends) for pair in pairs]
        more["error_y" if along_shares else "error_x"] = whiskers(points)
    return line_trace(
        line.name,
        positions if along_shares else values,
        values if along_shares else positions,
        ["<br>".join(map(plain_text, _words(pair, unit))) for pair in pairs],
        style,
        [] if line.is_whole else [pair.link or None for pair in pairs],
        **more,
    )


def _thinned(pairs: Sequence[ShareAt], *, along_shares: bool) -> list[ShareAt]:
    """As many pairs as can be seen, each as it was; the last one always."""
    least = (5 if along_shares else 1) / MOST_POINTS
    thinned: list[ShareAt] = []
    last = -math.inf
    for pair in pairs:
        position = _nines(pair.share) if along_shares else pair.share
        if position - last >= least or pair is pairs[-1]:
            thinned.append(pair)
            last = position
    return thinned


def _rounded(values: Sequence[float]) -> list[float]:
    """Six digits: a page holds hundreds of these."""
    return [float(f"{value:.6g}") for value in values]


def _words(pair: ShareAt, unit: str) -> list[str]:
    parts = [percent(pair.share), f"at most {numbers.with_unit(pair.value, unit)}"]
    return parts + ([f"95% interval {numbers.span(*pair.ends, unit)}"] if pair.ends else [])
