"""Horizontal bars: one value for each contender."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from fsbench_web.core import numbers
from fsbench_web.figures import palette
from fsbench_web.figures.frame import ROW_PX, Plain, bar_layout, figure, frame, plain_text

NOT_STATED = "not stated"
INTERVALS = "; lines: 95% intervals of the means"
CUT = ", cut at 0"
VALUE = "value"
_LETTER_PX = 7.5


def best_case(
    labels: Sequence[str],
    values: Sequence[float | None],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    best: Sequence[bool] | None = None,
    errors: Sequence[tuple[float, float] | None] | None = None,
    names: Sequence[str] | None = None,
    row_px: int = ROW_PX,
    links: Sequence[str] | None = None,
) -> go.Figure:
    """The figure of ``best_case_plain``."""
    made = best_case_plain(
        labels, values, unit, title, lower_is_better, best, errors, names, row_px, links
    )
    return figure(made["data"], made["layout"])


def best_case_plain(
    labels: Sequence[str],
    values: Sequence[float | None],
    unit: str,
    title: str,
    lower_is_better: bool = False,
    best: Sequence[bool] | None = None,
    errors: Sequence[tuple[float, float] | None] | None = None,
    names: Sequence[str] | None = None,
    row_px: int = ROW_PX,
    links: Sequence[str] | None = None,
) -> Plain:
    """One bar for each contender, the first on top, the best marked in words.

    ``values`` are in ``unit``; None draws no bar and says so. ``best`` says which are best; without
    it the best are found here, ties included. ``errors`` are (low, high) ends of an interval in
    ``unit``, drawn around its own middle. ``names`` decide the colours where they differ from the
    labels (a file system under a configuration's label); ``row_px`` is the height of a row.
    ``links`` are where a click on a bar leads. Raises ValueError when the lengths differ.
    """
    extras = [given for given in (best, errors, names, links) if given is not None]
    if any(len(given) != len(labels) for given in (values, *extras)):
        raise ValueError("labels, values, best, errors, names and links must have the same length")
    values = [value if value is None else numbers.scaled(value, unit) for value in values]
    errors = errors and [
        ends and (numbers.scaled(ends[0], unit), numbers.scaled(ends[1], unit)) for ends in errors
    ]
    unit = numbers.unit_name(unit)
    if best is None:
        known = [value for value in values if value is not None]
        target = (min(known) if lower_is_better else max(known)) if known else None
        best = [value is not None and value == target for value in values]
    least = numbers.least_decimals(values)
    texts = [
        NOT_STATED
        if value is None
        else numbers.amount(value, unit, least) + (" best" if is_best else "")
        for value, is_best in zip(values, best, strict=True)
    ]
    series = palette.series_of(names or labels)
    bar: dict[str, Any] = {
        "type": "bar",
        "x": list(values),
        "y": [plain_text(label) for label in labels],
        "orientation": "h",
        "text": [
            f"<b>{text}</b>" if is_best else text for text, is_best in zip(texts, best, strict=True)
        ],
        "textposition": "auto",
        "cliponaxis": False,
        "marker": {"color": [palette.colour(number) for number in series]},
        "meta": {"series": series} | ({"links": list(links)} if links else {}),
        "hovertemplate": [
            plain_text(label)
            + "<br>"
            + (NOT_STATED if value is None else plain_text(numbers.with_unit(value, unit)))
            + "<extra></extra>"
            for label, value in zip(labels, values, strict=True)
        ],
    }
    traces = [bar]
    drawn = [
        (label, ends) for label, ends in zip(labels, errors or (), strict=False) if ends is not None
    ]
    if drawn:
        # Whiskers reach anywhere: the numbers stand beside the plot, as on paper.
        bar["textposition"] = "none"
        traces.append(_intervals(drawn, unit))
        if links:
            leads = [link for link, ends in zip(links, errors or (), strict=True) if ends]
            traces[-1]["meta"] = {"role": "interval", "links": leads}
    direction = "less is better" if lower_is_better else "more is better"
    parts = [
        f"{label} {NOT_STATED if value is None else numbers.with_unit(value, unit)}"
        + (" (best)" if is_best else "")
        + (f", 95% interval {_ends_in_words(ends, unit)}" if ends else "")
        for label, value, is_best, ends in zip(
            labels, values, best, errors or [None] * len(labels), strict=True
        )
    ]
    layout = bar_layout(
        title=title,
        x_title=f"{_unit_in_words(unit)}, {direction}" + (INTERVALS if drawn else ""),
        rows=len(labels),
        summary=f"{title}: bar chart, {direction}. {'; '.join(parts)}.",
        gaps=_gaps(labels, values),
        row_px=row_height_px(labels, row_px),
        ticks={plain_text(label): plain_text(in_lines(label)) for label in labels},
    )
    if drawn:
        _put_beside(layout, [(row, text) for row, text in zip(bar["y"], bar["text"], strict=True)])
        ends_of_all = [end for _, ends in drawn for end in ends]
        known = [value for value in values if value is not None]
        if min(ends_of_all) < 0 <= min(known, default=0):
            # What is measured is not below zero, and half a plot of it would hide what is above.
            layout["xaxis"]["range"] = [0, max(*ends_of_all, *known) * 1.05]
            layout["xaxis"]["title"]["text"] += CUT
    return {"data": traces, "layout": layout}


def _put_beside(layout: Plain, texts: Sequence[tuple[str, str]]) -> None:
    """A column of the values at the right of the plot, [(row, its text)]."""
    width = 12 + round(_LETTER_PX * max(len(_bare(text)) for _, text in texts))
    layout["margin"] = {**layout["margin"], "r": width}
    layout["annotations"] += [
        {
            "name": VALUE,
            "xref": "paper",
            "x": 1,
            "xanchor": "right",
            "xshift": width - 4,
            "y": row,
            "text": text,
            "showarrow": False,
        }
        for row, text in texts
        if text != NOT_STATED
    ]


def _bare(text: str) -> str:
    return text.removeprefix("<b>").removesuffix("</b>")


def _intervals(drawn: Sequence[tuple[str, tuple[float, float]]], unit: str) -> dict[str, Any]:
    """Whiskers around a dot in the middle of each interval, which need not be the end of its bar.

    A score is not always the mean of its repeats: a maximum is of all of them.
    """
    return {
        "type": "scatter",
        "x": [(low + high) / 2 for _, (low, high) in drawn],
        "y": [plain_text(label) for label, _ in drawn],
        "mode": "markers",
        "marker": {"size": 4},
        "meta": {"role": "interval"},
        "error_x": {
            "type": "data",
            "array": [(high - low) / 2 for _, (low, high) in drawn],
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": [
            f"{plain_text(label)}<br>95% interval {plain_text(_ends_in_words(ends, unit))}"
            "<extra></extra>"
            for label, ends in drawn
        ],
    }


def _ends_in_words(ends: tuple[float, float], unit: str) -> str:
    return numbers.span(*ends, unit)


def row_height_px(labels: Sequence[str], least_px: int = ROW_PX) -> int:
    """How high the rows of a figure are, so that labels of several lines do not touch."""
    lines = max((in_lines(label).count("\n") + 1 for label in labels), default=1)
    return max(least_px, 16 * lines + 6)


def in_lines(label: str, most: int = 24) -> str:
    """A configuration's long label in up to three lines, broken behind its underscores.

    What is longer ends in an ellipsis; the text that appears on a bar has it whole.
    """
    lines = [""]
    for part in label.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > most:
            lines.append("")
        lines[-1] += part
    if len(lines) > 3:
        lines = [*lines[:2], lines[2] + "…"]
    return "\n".join(line if len(line) <= most * 2 else line[: most * 2] + "…" for line in lines)


def stated(
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
    made = frame(
        [bar],
        title=title,
        x_title=f"{_unit_in_words(unit)}, less is better"
        + ("; hatched: at least" if any(is_lower_bound) else ""),
        rows=len(labels),
        summary=f"{title}: bar chart, less is better. {'; '.join(parts)}.",
        gaps=_gaps(labels, values),
    )
    longest = max((value for value in values if value is not None), default=None)
    if longest is not None:
        # Room for the words beside the longest bar.
        made.layout.xaxis.range = [0, longest * 1.5]
    return made


def _gaps(labels: Sequence[str], values: Sequence[float | None]) -> list[tuple[str, str]]:
    """The rows without a bar: a missing value is never a bar of zero."""
    return [(label, NOT_STATED) for label, v in zip(labels, values, strict=True) if v is None]


def _unit_in_words(unit: str) -> str:
    return {"s": "seconds", "%": "percent", "score": "sum of the six categories", "": "value"}.get(
        unit, unit
    )
