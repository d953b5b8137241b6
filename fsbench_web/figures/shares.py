"""How values are distributed: which share of all is at most a value, one line a contender.

Made of (value, share) pairs, so that percentiles that a tool printed and histograms that were kept
whole are drawn alike. Nothing is known between two pairs: lines join them for the eye.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import figure, heading, plain_text
from fsbench_web.figures.lines import LINEAR, MOST_LINES, Point, direction, whiskers, y_axis

_TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


class ShareAt(NamedTuple):
    """``share`` (0 to 1) of all is at most ``value``; ``ends`` of the value's 95% interval."""

    value: float
    share: float
    ends: tuple[float, float] | None = None
    link: str = ""


@dataclass(frozen=True)
class Shares:
    """The pairs of one contender, in any order."""

    name: str
    pairs: Sequence[ShareAt]


def percentiles(
    lines: Sequence[Shares], unit: str, title: str, among: Iterable[str] = (), scale: str = ""
) -> go.Figure:
    """Values upwards over a percentile axis, on which each further nine has the same room.

    What is at most all (100%) has no place on it. Raises ValueError for more than MOST_LINES.
    """
    lines = _shown_lines(lines, unit, limit=1.0)
    unit = numbers.unit_name(unit)
    largest_share = max((pair.share for line in lines for pair in line.pairs), default=0.5)
    ticks = [share for share in _TICKS if share <= max(largest_share, 0.9)]
    return _shares_figure(
        lines,
        among,
        unit,
        _layout(title)
        | {
            "xaxis": {
                "title": {"text": "percentile", "font": {"size": 12}},
                "tickmode": "array",
                "tickvals": [_nines(share) for share in ticks],
                "ticktext": [percent(share) for share in ticks],
                "automargin": True,
                "zeroline": False,
            },
            "yaxis": y_axis(
                _points(lines), f"{plain_text(unit)}, {direction(True)}", cuts=True, scale=scale
            ),
        },
        title,
        along_shares=True,
    )


def cdf(
    lines: Sequence[Shares], unit: str, title: str, among: Iterable[str] = (), scale: str = ""
) -> go.Figure:
    """The cumulative share upwards over the values: further left is better. Raises ValueError."""
    lines = _shown_lines(lines, unit, limit=math.inf)
    unit = numbers.unit_name(unit)
    values = y_axis(_points(lines), f"{plain_text(unit)}, {direction(True)}", scale=scale)
    values["rangemode"] = "normal" if scale != LINEAR else "tozero"
    return _shares_figure(
        lines,
        among,
        unit,
        _layout(title)
        | {
            "xaxis": values,
            "yaxis": {
                "title": {"text": "share of all, %", "font": {"size": 12}, "standoff": 12},
                "range": [0, 102],
                "automargin": True,
            },
        },
        title,
        along_shares=False,
    )


def percent(share: float) -> str:
    """``99.9%``: as many digits as it takes."""
    return f"{round(100 * share, 7):g}%"


def _nines(share: float) -> float:
    return -math.log10(1 - share)


def _shown_lines(lines: Sequence[Shares], unit: str, limit: float) -> list[Shares]:
    if len(lines) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines cannot be told apart")
    return [
        Shares(
            line.name,
            [
                pair._replace(
                    value=numbers.scaled(pair.value, unit),
                    ends=pair.ends
                    and (numbers.scaled(pair.ends[0], unit), numbers.scaled(pair.ends[1], unit)),
                )
                for pair in sorted(line.pairs, key=lambda pair: pair.share)
                if pair.share < limit
            ],
        )
        for line in lines
    ]


def _points(lines: Iterable[Shares]) -> list[Point]:
    return [Point(pair.share, pair.value, pair.ends) for line in lines for pair in line.pairs]


def _layout(title: str) -> dict[str, object]:
    return {
        "title": heading(title),
        "height": 420,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 48},
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top"},
        "hovermode": "closest",
    }


def _shares_figure(
    lines: Sequence[Shares],
    among: Iterable[str],
    unit: str,
    layout: dict[str, object],
    title: str,
    *,
    along_shares: bool,
) -> go.Figure:
    styles = palette.styles([line.name for line in lines], among)
    traces = [
        _trace(line, style, unit, along_shares=along_shares)
        for line, style in zip(lines, styles, strict=True)
    ]
    text = "; ".join(
        f"{line.name}: "
        + ", ".join(
            f"{numbers.with_unit(pair.value, unit)} at {percent(pair.share)}" for pair in line.pairs
        )
        for line in lines
    )
    kind = "percentiles" if along_shares else "cumulative distribution"
    return figure(traces, layout | {"meta": {"summary": f"{title}: {kind}. {text}."}})


def _trace(line: Shares, style: palette.Style, unit: str, *, along_shares: bool) -> go.Scatter:
    values = [pair.value for pair in line.pairs]
    positions = [_nines(pair.share) if along_shares else 100 * pair.share for pair in line.pairs]
    points = [Point(pair.share, pair.value, pair.ends) for pair in line.pairs]
    error_bars = whiskers(points) if any(pair.ends for pair in line.pairs) else None
    return go.Scatter(
        name=plain_text(line.name),
        x=positions if along_shares else values,
        y=values if along_shares else positions,
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 8},
        **({("error_y" if along_shares else "error_x"): error_bars} if error_bars else {}),
        customdata=["<br>".join(map(plain_text, _words(pair, unit))) for pair in line.pairs],
        hovertemplate="%{customdata}<extra>" + plain_text(line.name) + "</extra>",
        meta={"series": style.series, "links": [pair.link or None for pair in line.pairs]},
    )


def _words(pair: ShareAt, unit: str) -> list[str]:
    parts = [percent(pair.share), f"at most {numbers.with_unit(pair.value, unit)}"]
    return parts + ([f"95% interval {numbers.span(*pair.ends, unit)}"] if pair.ends else [])
