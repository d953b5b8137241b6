"""Several small charts in one: two over one axis, or one for each test."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import lines as curves
from fsbench_web.figures import palette
from fsbench_web.figures.frame import direction, extent, line_layout, plain_text, summary
from fsbench_web.figures.lines import Line, Point

ROW_PX = 18
ABOVE_PX, BELOW_PX = 20, 52
"""Of a small chart: its title; the numbers of its axis and the way to the next."""
COLUMNS = 3
MOST_PANELS = 24


@dataclass(frozen=True)
class Panel:
    """Lines of one unit, one below the other over the same places."""

    title: str
    unit: str
    lower_is_better: bool
    lines: Sequence[Line]


def stacked(
    panels: Sequence[Panel],
    x_title: str,
    title: str,
    among: Iterable[str] = (),
    scale: str = "",
) -> go.Figure:
    """Panels over one axis, the first on top; a contender looks alike in all of them."""
    places = sorted({point.x for panel in panels for line in panel.lines for point in line.points})
    names = {x: f"{x:g}" for x in places}
    looks = palette.styles_by_name([line.name for panel in panels for line in panel.lines], among)
    traces: list[dict[str, Any]] = []
    layout = line_layout(
        title,
        curves.x_axis(places, names, x_title)
        | {"anchor": f"y{len(panels)}" if len(panels) > 1 else "y"},
        {},
        summary(
            title,
            f"line charts of {len(panels)} tests",
            [
                (
                    f"{panel.title} of {line.name}",
                    f"{extent([point.y for point in line.points], panel.unit)} "
                    f"({direction(panel.lower_is_better)})",
                )
                for panel in panels
                for line in panel.lines
            ],
        ),
        height=140 + 260 * len(panels),
        margin={"l": 8, "r": 16, "t": 84, "b": 48},
        legend={"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom"},
        annotations=[],
    )
    named: set[str] = set()
    gap = 0.2 / len(panels)
    height = (1 - gap * (len(panels) - 1)) / len(panels)
    for place, panel in enumerate(panels):
        scaled = curves.shown_lines(panel.lines, panel.unit)
        unit = numbers.unit_name(panel.unit)
        axis = "" if not place else str(place + 1)
        top = 1 - place * (height + gap)
        of_values = curves.y_axis(
            scaled,
            f"{panel.title}, {unit}, {direction(panel.lower_is_better)}",
            cuts=True,
            scale=scale,
        )
        layout["annotations"].append(_panel_title(str(of_values["title"]["text"]), top))
        of_values["title"] = of_values["title"] | {"text": plain_text(unit)}
        layout[f"yaxis{axis}"] = of_values | {"domain": [max(0.0, top - height), top]}
        for line in scaled:
            trace = curves.trace(line, places, names, unit, looks[line.name], places)
            trace |= {"yaxis": f"y{axis}", "legendgroup": trace["name"]}
            trace["showlegend"] = line.name not in named
            named.add(line.name)
            traces.append(trace)
    return go.Figure(traces, layout)


def _panel_title(words: str, top: float) -> dict[str, Any]:
    return {
        **{"name": "panel", "text": words, "showarrow": False},
        **{"xref": "paper", "x": 0, "xanchor": "left", "align": "left"},
        **{"yref": "paper", "y": min(1.0, top), "yanchor": "bottom"},
    }


@dataclass(frozen=True)
class SmallMultiple:
    """One test: points of (contender, percent of the best's speed), best first."""

    title: str
    points: Sequence[tuple[str, Point]]


def multiples(panels: Sequence[SmallMultiple], title: str, among: Iterable[str] = ()) -> go.Figure:
    """A small chart for each test, on one axis of percent of the best's speed.

    ``static/js/figures.js`` puts them into fewer columns where the page is narrow.
    """
    looks = palette.styles_by_name([name for panel in panels for name, _ in panel.points], among)
    rows = max((len(panel.points) for panel in panels), default=1)
    lines = -(-len(panels) // COLUMNS)
    height = rows * ROW_PX + ABOVE_PX + BELOW_PX
    layout: dict[str, Any] = line_layout(
        title,
        {},
        {},
        summary(
            title,
            f"small charts of {len(panels)} tests",
            [
                (panel.title, ", ".join(f"{name} {point.x:.3g}%" for name, point in panel.points))
                for panel in panels
            ],
        ),
        height=round(96 + lines * height),
        showlegend=False,
        annotations=[],
    )
    traces = []
    wide, high = 1 / COLUMNS, 1 / max(lines, 1)
    for place, panel in enumerate(panels):
        number = "" if not place else str(place + 1)
        left, top = (place % COLUMNS) * wide, 1 - (place // COLUMNS) * high
        plot = {"left": left + 0.28 * wide, "right": left + 0.97 * wide}
        layout[f"xaxis{number}"] = {
            "domain": [plot["left"], plot["right"]],
            "anchor": f"y{number}",
            "range": [0, 108],
            "tickvals": [0, 50, 100],
            "zeroline": False,
        }
        layout[f"yaxis{number}"] = {
            "domain": [
                top - high * (height - BELOW_PX) / height,
                top - high * ABOVE_PX / height,
            ],
            "anchor": f"x{number}",
            "type": "category",
            "autorange": "reversed",
            "fixedrange": True,
            "tickmode": "linear",
            "dtick": 1,
        }
        layout["annotations"].append(
            {
                **{"xref": "paper", "yref": "paper", "x": left, "xanchor": "left"},
                **{"y": top, "yanchor": "top", "showarrow": False},
                "text": plain_text(panel.title),
            }
        )
        traces.append(_small_trace(panel, number, looks))
    for trace in traces[:1]:
        trace.meta["panel_px"] = height
    return go.Figure(traces, layout)


def _small_trace(
    panel: SmallMultiple, number: str, looks: Mapping[str, palette.Style]
) -> go.Scatter:
    styles = [looks[name] for name, _ in panel.points]
    return go.Scatter(
        x=[point.x for _, point in panel.points],
        y=[plain_text(name) for name, _ in panel.points],
        xaxis=f"x{number}",
        yaxis=f"y{number}",
        mode="markers",
        marker={
            "symbol": [style.symbol for style in styles],
            "size": 9,
        },
        customdata=[
            "<br>".join(plain_text(part) for part in (name, point.note) if part)
            for name, point in panel.points
        ],
        hovertemplate="%{customdata}<extra></extra>",
        meta={
            "series": [style.series for style in styles],
            "links": [point.link or None for _, point in panel.points],
        },
    )
