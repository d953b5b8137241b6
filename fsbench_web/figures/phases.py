"""The phases of a work side by side: in each of them a mark for each contender."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import figure, line_layout, plain_text
from fsbench_web.figures.lines import (
    MOST_LINES,
    Point,
    direction,
    in_words,
    line_trace,
    whiskers,
    y_axis,
)

# How far the marks of a phase are spread around its place, of the room that there is.
SPREAD = 0.6


@dataclass(frozen=True)
class ContenderPhases:
    """One contender: a point for each phase, None where it has none; ``x`` of points is unused."""

    name: str
    points: Sequence[Point | None]


def phases(
    contenders: Sequence[ContenderPhases],
    names: Sequence[str],
    unit: str,
    title: str,
    lower_is_better: bool = True,
    among: Iterable[str] = (),
    scale: str = "",
) -> go.Figure:
    """Phases rightwards, values in ``unit`` upwards with their 95% intervals where known.

    No lines join them: between two phases there is nothing. Raises ValueError for more contenders
    than MOST_LINES, and where one has not a place for each phase.
    """
    if len(contenders) > MOST_LINES:
        raise ValueError(f"more than {MOST_LINES} contenders cannot be told apart")
    if any(len(contender.points) != len(names) for contender in contenders):
        raise ValueError("every contender has a place for every phase")
    styles = palette.styles([contender.name for contender in contenders], among)
    step = SPREAD / max(len(contenders), 1)
    first = -step * (len(contenders) - 1) / 2
    return figure(
        [
            _trace(contender, names, unit, styles[place], first + step * place)
            for place, contender in enumerate(contenders)
        ],
        line_layout(
            title,
            {
                "type": "linear",
                "tickmode": "array",
                "tickvals": list(range(len(names))),
                "ticktext": [plain_text(name) for name in names],
                # Words end at their tick: the last one has no room on its right.
                "tickangle": -40,
                "range": [-0.5, len(names) - 0.5],
                "zeroline": False,
                "automargin": True,
            },
            y_axis(
                [point for contender in contenders for point in contender.points if point],
                f"{unit}, {direction(lower_is_better)}",
                scale=scale,
            ),
            _summary(contenders, names, unit, title),
            height=440,
            legend_y=-0.25,
        ),
    )


def _trace(
    contender: ContenderPhases, names: Sequence[str], unit: str, style: palette.Style, offset: float
) -> dict[str, Any]:
    points = contender.points
    has_intervals = any(point and point.ends for point in points)
    return line_trace(
        contender.name,
        [number + offset for number in range(len(names))],
        [point.y if point else None for point in points],
        [
            in_words(point, name, unit) if point else None
            for point, name in zip(points, names, strict=True)
        ],
        style,
        [point.link if point else None for point in points],
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 10},
        **({"error_y": whiskers(points)} if has_intervals else {}),
    )


def _summary(
    contenders: Sequence[ContenderPhases], names: Sequence[str], unit: str, title: str
) -> str:
    parts = []
    for contender in contenders:
        text = ", ".join(
            f"{name} {numbers.with_unit(point.y, unit) if point else 'no value'}"
            for name, point in zip(names, contender.points, strict=True)
        )
        parts.append(f"{contender.name}: {text}")
    return f"{title}: a mark for each contender in each phase. {'; '.join(parts)}."
