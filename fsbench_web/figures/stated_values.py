"""Bars of what a text states of a figure whose values were never printed."""

from collections.abc import Sequence

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.bars import NOT_STATED, gaps_of, unit_in_words
from fsbench_web.figures.frame import bar_layout, figure, plain_text


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
        marker={
            "color": [palette.colour(number) for number in series],
            "pattern": {"shape": ["/" if bound else "" for bound in is_lower_bound]},
        },
        meta={"series": series},
        hovertemplate=[
            f"{plain_text(label)}<br>{text}<extra></extra>"
            for label, text in zip(labels, texts, strict=True)
        ],
    )
    parts = [f"{label} {text}" for label, text in zip(labels, texts, strict=True)]
    chart = figure(
        [bar],
        bar_layout(
            title=title,
            x_title=f"{unit_in_words(unit)}, less is better"
            + ("; hatched: at least" if any(is_lower_bound) else ""),
            rows=len(labels),
            summary=f"{title}: bar chart, less is better. {'; '.join(parts)}.",
            gaps=gaps_of(labels, values),
        ),
    )
    longest = max((value for value in values if value is not None), default=None)
    if longest is not None:
        # Room for the words beside the longest bar.
        chart.layout.xaxis.range = [0, longest * 1.5]
    return chart
