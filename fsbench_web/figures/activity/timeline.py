"""Lines over the seconds of a run, with the phases that it went through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import axis, figure, line_layout, plain_text
from fsbench_web.figures.palette import DASHES

NARROWEST = 12
"""A phase is marked where it takes more than this part of the run."""


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


def over_time(panel: Panel, seconds: Sequence[float], phases: Sequence[Phase]) -> go.Figure:
    """The panel over the run's seconds. Raises ValueError where lengths differ."""
    if any(len(line) != len(seconds) for line in panel.lines.values()):
        raise ValueError("every line must have a value, or None, for every second")
    # Narrower ones nobody could tell apart; the table has all of them.
    least_s = max(seconds, default=0.0) / NARROWEST
    wide = [phase for phase in phases if phase.end_s - phase.start_s > least_s]
    traces = [
        {
            "type": "scatter",
            "name": plain_text(name),
            "x": list(seconds),
            "y": [None if value is None else float(f"{value:.5g}") for value in line],
            "mode": "lines+markers" if len(seconds) < 30 else "lines",
            "connectgaps": False,
            "line": {
                "color": palette.colour(place % 7 + 1),
                "dash": DASHES[place % 7],
                "width": 1.5,
                # What was counted between two samples holds for all of the time between.
                "shape": "hvh",
            },
            "marker": {"color": palette.colour(place % 7 + 1), "size": 5},
            "hovertemplate": "%{x:.1f} s<br>%{y:,.4~g} "
            + plain_text(panel.unit)
            + "<extra>"
            + plain_text(name)
            + "</extra>",
            "meta": {"series": place % 7 + 1},
        }
        for place, (name, line) in enumerate(panel.lines.items())
    ]
    return figure(
        traces,
        line_layout(
            panel.name,
            axis("seconds of the run", fixedrange=True, zeroline=False),
            axis(
                panel.unit,
                standoff=12,
                rangemode="tozero",
                fixedrange=True,
                separatethousands=True,
                nticks=5,
            ),
            _summary(panel, phases),
            height=260,
            legend_y=-0.3,
            margin={"l": 8, "r": 16, "t": 60, "b": 44},
            shapes=[
                {
                    "type": "line",
                    "xref": "x",
                    "yref": "paper",
                    "x0": phase.start_s,
                    "x1": phase.start_s,
                    "y0": 0,
                    "y1": 1,
                    "line": {"width": 1, "dash": "dot", "color": palette.colour(7)},
                }
                for phase in wide
            ],
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


def _summary(panel: Panel, phases: Sequence[Phase]) -> str:
    parts = []
    for name, line in panel.lines.items():
        values = [value for value in line if value is not None]
        largest = numbers.with_unit(max(values), panel.unit) if values else "no value"
        parts.append(f"{name} at most {largest}")
    during = ", ".join(phase.name for phase in phases)
    return f"{panel.name} over the seconds of the run ({during}): {'; '.join(parts)}."
