"""Lines over time: how a reference that is run again and again changes."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import axis, figure, line_layout, plain_text


def reference_drift(
    times: Sequence[datetime],
    changes: Mapping[str, Sequence[float | None]],
    title: str,
) -> go.Figure:
    """The change of each test against the first reference, in percent, over the time of the runs.

    ``changes`` are {test as it is written: a value a time}; None draws no point. Raises ValueError
    when the lengths differ.
    """
    if any(len(values) != len(times) for values in changes.values()):
        raise ValueError("every test must have a value, or None, for every time")
    x = [time.isoformat() for time in times]
    traces = [
        go.Scatter(
            name=plain_text(test),
            x=x,
            y=list(values),
            mode="lines+markers",
            connectgaps=False,
            customdata=list(map(_in_words, values)),  # browsers round binary digits
            hovertemplate="%{x}<br>%{customdata}<extra>" + plain_text(test) + "</extra>",
            marker={"color": palette.colour(number), "size": 7},
            meta={"series": number},
        )
        for (test, values), number in zip(
            changes.items(), palette.series_of(list(changes)), strict=True
        )
    ]
    text = "; ".join(
        f"{test} " + ", ".join(map(_in_words, values)) for test, values in changes.items()
    )
    return figure(
        traces,
        line_layout(
            title,
            {"type": "date", "fixedrange": True, "automargin": True, "nticks": 6},
            axis("% against the first", zeroline=True, fixedrange=True),
            f"{title}: line chart. {text}.",
            height=320,
        ),
    )


def _in_words(change_percent: float | None) -> str:
    if change_percent is None:
        return "no value"
    return f"{numbers.signed_percent(change_percent, 2)}%"
