"""Bars from lists, as tests write them."""

from itertools import zip_longest
from typing import Any

import plotly.graph_objects as go

from fsbench_web.figures import bars
from fsbench_web.figures.bars import Bar


def best_case(
    labels: list[str],
    values: list[float],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    *,
    errors: Any = (),
    links: Any = (),
    repeats: Any = (),
    scores: Any = (),
    ceilings: Any = None,
) -> go.Figure:
    """All that tie for the best are marked."""
    best = (min if lower_is_better else max)(values)
    parts = zip_longest(labels, values, errors, links, repeats, scores)
    entries = [
        Bar(label, value, value == best, ends, of_bar or (), score, link=link or "")
        for label, value, ends, link, of_bar, score in parts
    ]
    return bars.best_case(entries, unit, title, lower_is_better, ceilings=ceilings)
