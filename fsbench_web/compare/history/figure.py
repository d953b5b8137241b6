"""A line over time as a figure."""

import plotly.graph_objects as go

from fsbench_web.compare.history.lines import History
from fsbench_web.figures import lines

OWN = "The LUN itself"


def chart(history: History, title: str, along: str) -> go.Figure | None:
    """The line with its intervals, and a dashed upright where its level changes."""
    if not history.points:
        return None
    lun_points = [
        lines.Point(float(place), value, note="without a file system")
        for place, (_, value, _) in enumerate(history.rows)
        if value is not None
    ]
    figure = lines.curves(
        [
            *([lines.Line(OWN, lun_points)] if lun_points else []),
            lines.Line(
                "Score",
                [
                    lines.Point(
                        float(place),
                        point.mean,
                        (point.interval.low, point.interval.high) if point.interval else None,
                        f"{len(point.runs)} run{'' if len(point.runs) == 1 else 's'}",
                        f"/runs/{point.runs[-1]}/",
                    )
                    for place, point in enumerate(history.points)
                ],
            ),
        ],
        history.unit,
        title,
        "Kernel" if along == "kernel" else "Day on which the runs were measured",
        {float(place): point.name for place, point in enumerate(history.points)},
        history.lower_is_better,
    )
    # There is one line, and an interval may be shorter than a marker is high: its ends stand out
    # sideways.
    figure.update_layout(showlegend=bool(lun_points))
    figure.update_traces(marker_size=6)
    # Without the number of a series, which pages colour it by: it is no contender.
    figure.update_traces(
        selector={"name": OWN},
        line={"dash": "dash", "color": "#8a96a5"},
        marker={"color": "#8a96a5"},
        meta={"role": "ceiling"},
    )
    if any(point.interval for point in history.points):
        figure.update_traces(error_y={"width": 9, "thickness": 2})
    for entry in history.changes:
        figure.add_vline(x=entry.change.place - 0.5, line={"dash": "dash", "color": "#8a96a5"})
    return figure
