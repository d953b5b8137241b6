"""Lines over the seconds of a test or a run, and over days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.ceilings import COLOUR
from fsbench_web.figures.frame import axis, extent, line_layout, plain_text, summary
from fsbench_web.figures.lines import MOST_LINES, line_trace, log_axis
from fsbench_web.figures.palette import Style

Latencies = tuple[Sequence[float], Sequence[float], Sequence[int]]
"""(values, seconds at which their intervals ended, completions of these)"""
FEW = 30
"""So many points of a line have a mark each."""
NARROWEST = 12
"""A phase is marked where it takes more than this part of the run."""
_FIXED = {"fixedrange": True, "zeroline": False}


def latencies(
    lines: Mapping[str, Latencies], unit: str, title: str, *, are_contenders: bool = False
) -> go.Figure:
    """A line each over the seconds of a test, in ``unit``, on a logarithmic axis.

    Raises ValueError for too many lines, and where the lengths of a line differ.
    """
    if len(lines) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} lines are too many to distinguish")
    if any(len({len(part) for part in line}) > 1 for line in lines.values()):
        raise ValueError("every line must have a value for every interval")
    styles = [Style(number) for number in range(1, MOST_LINES + 1)]
    if are_contenders:
        styles = palette.styles(list(lines))
    shown = {
        name: [numbers.scaled(value, unit) for value in values]
        for name, (values, _, _) in lines.items()
    }
    traces = []
    for (name, (values, seconds, counts)), style in zip(lines.items(), styles, strict=False):
        words = [
            f"{numbers.with_unit(value, unit)} of {count:,}"
            for value, count in zip(values, counts, strict=True)
        ]
        # Nothing at 0 has a place on a logarithmic axis.
        ys = [_rounded(value) or None for value in shown[name]]
        of_pointer = _hover(name, "until %{x:.4~g} s<br>%{customdata}")
        thin = _thin(style, len(seconds))
        traces.append(line_trace(name, seconds, ys, words, style, **thin, hovertemplate=of_pointer))
    unit_name = numbers.unit_name(unit)
    every_value = [value for values in shown.values() for value in values]
    return go.Figure(
        traces,
        line_layout(
            title,
            axis("seconds of the test", rangemode="tozero", **_FIXED),
            log_axis(f"{unit_name}, less is better", every_value) | _FIXED,
            summary(
                title,
                "lines over seconds",
                [(name, extent(values, unit_name)) for name, values in shown.items()],
                lower_is_better=True,
            ),
            height=380,
            legend_y=-0.25,
        ),
    )


@dataclass(frozen=True)
class Panel:
    """Lines of one unit: {what it is called: a value a point, None where there is none}."""

    name: str
    unit: str
    lines: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Phase:
    """A part of the run, in its seconds."""

    name: str
    start_s: float
    end_s: float


def timeline(panel: Panel, seconds: Sequence[float], phases: Sequence[Phase]) -> go.Figure:
    """The panel over the run's seconds. Raises ValueError where lengths differ."""
    if any(len(line) != len(seconds) for line in panel.lines.values()):
        raise ValueError("every line must have a value, or None, for every second")
    # Narrower ones nobody could tell apart; the table has all of them.
    least_s = max(seconds, default=0.0) / NARROWEST
    wide = [phase for phase in phases if phase.end_s - phase.start_s > least_s]
    traces = []
    for place, (name, line) in enumerate(panel.lines.items()):
        style = Style(place % palette.MOST + 1)
        ys = [None if value is None else _rounded(value) for value in line]
        of_pointer = _hover(name, f"%{{x:.1f}} s<br>%{{y:,.4~g}} {plain_text(panel.unit)}")
        thin = _thin(style, len(seconds))
        # What was counted between two samples holds for all of the time between.
        thin["line"]["shape"] = "hvh"
        thin |= {"connectgaps": False, "hovertemplate": of_pointer}
        traces.append(line_trace(name, seconds, ys, [], style, **thin))
    during = ", ".join(phase.name for phase in phases)
    return go.Figure(
        traces,
        line_layout(
            panel.name,
            axis("seconds of the run", **_FIXED),
            axis(
                panel.unit,
                standoff=12,
                rangemode="tozero",
                fixedrange=True,
                separatethousands=True,
                nticks=5,
            ),
            summary(
                panel.name,
                f"lines over the seconds of the run ({during})",
                [(name, extent(line, panel.unit)) for name, line in panel.lines.items()],
            ),
            height=260,
            legend_y=-0.3,
            margin={"l": 8, "r": 16, "t": 60, "b": 44},
            shapes=[upright(phase.start_s) for phase in wide],
            annotations=[
                {
                    "x": phase.start_s,
                    "y": 1,
                    "xref": "x",
                    "yref": "paper",
                    "xanchor": "left",
                    "yanchor": "bottom",
                    "text": plain_text(phase.name),
                    "showarrow": False,
                    "font": {"size": 11},
                }
                for phase in wide
            ],
        ),
    )


def reference_drift(
    times: Sequence[datetime], changes: Mapping[str, Sequence[float | None]], title: str
) -> go.Figure:
    """The change of each test against the first reference, in percent, over days.

    ``changes``: {test: a value or None for each time}. Raises ValueError where lengths differ.
    """
    if any(len(values) != len(times) for values in changes.values()):
        raise ValueError("every test must have a value, or None, for every time")
    xs = [time.isoformat() for time in times]
    # Browsers round binary digits: the words are made here.
    words = {test: list(map(_change_words, values)) for test, values in changes.items()}
    return go.Figure(
        [
            line_trace(
                *(test, xs, values, words[test], Style(place % palette.MOST + 1)),
                hovertemplate=_hover(test, "%{x}<br>%{customdata}"),
                connectgaps=False,
            )
            for place, (test, values) in enumerate(changes.items())
        ],
        line_layout(
            title,
            {"type": "date", "fixedrange": True, "automargin": True, "nticks": 6},
            axis("% against the first", zeroline=True, fixedrange=True),
            summary(title, "lines over days", [(test, ", ".join(words[test])) for test in words]),
            height=320,
        ),
    )


def upright(x: float) -> dict[str, Any]:
    """A dotted line from the bottom of the plot to its top."""
    return {
        **{"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1},
        "line": {"width": 1, "dash": "dot", "color": COLOUR},
    }


def _hover(name: str, template: str) -> str:
    return f"{template}<extra>{plain_text(name)}</extra>"


def _thin(style: Style, points: int) -> dict[str, Any]:
    """Thin lines with small marks, and of many points without."""
    return {
        "mode": "lines+markers" if points < FEW else "lines",
        "line": {"dash": style.dash, "width": 1.5},
        "marker": {"symbol": style.symbol, "size": 5},
    }


def _rounded(value: float) -> float:
    """Five digits: a page holds thousands of these."""
    return float(f"{value:.5g}")


def _change_words(change_percent: float | None) -> str:
    if change_percent is None:
        return "no value"
    return f"{numbers.signed_percent(change_percent, 2)}%"
