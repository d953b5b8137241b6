"""The answer of a comparison as one image: sentence, chart, and in its foot what it rests on.

``png`` and ``svg`` run in the process that draws files (fsbench_web.renderings): they import
matplotlib, which takes half a second and 40 MB.
"""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import shorten, wrap
from typing import Any

from django.conf import settings

from fsbench_web.compare.answer import ComparisonAnswer
from fsbench_web.compare.answer_shown import (
    CAVEATS,
    AnswerChart,
    basis,
    charts,
    details,
    headline,
    shortened,
)
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core import numbers

SIZE_PX = (1200, 630)
"""What chats show whole (OpenGraph)."""
_DPI = 100
_LEFT, _RIGHT = 0.04, 0.96
_TEXT, _MUTED, _GRID, _ACCENT = "#17202b", "#55616f", "#d5dbe3", "#0b5cad"
_TONES = {"faster": "#12693a", "slower": "#a51b1b", "even": _MUTED}
_RC: Any = {"svg.fonttype": "none", "svg.hashsalt": "fsbench", "text.parse_math": False}
_LINE, _LEAST_ROW, _MOST_ROW = 0.052, 0.036, 0.085
"""Heights of a line of the headline and of a row of a chart, as shares of the image."""


@dataclass(frozen=True)
class AnswerImage:
    """``details``: sentences below the headline; ``foot``: n, hardware and when, one line."""

    headline: str
    details: str
    charts: tuple[tuple[str, AnswerChart], ...]
    foot: str
    address: str


def answer_image(
    found: ComparisonAnswer, tables: Sequence[DeltaTable], address: str, as_of: str
) -> AnswerImage:
    """``address`` is where the same numbers are; ``as_of`` of when they are."""
    hardware = sorted({row.hardware for table in tables for row in table.rows if row.hardware})
    more = f" and {len(hardware) - 2} more" if len(hardware) > 2 else ""
    parts = (
        basis(found),
        numbers.counted(len(found.tests), "test") if found.tests else "",
        numbers.counted(found.runs, "run") if found.runs else "",
        ", ".join(shortened(name, 40) for name in hardware[:2]) + more,
        as_of,
    )
    sentences = [*(CAVEATS[code] for code in found.caveats), *details(found)]
    return AnswerImage(
        headline(found),
        " ".join(sentences),
        tuple(charts(found)),
        " · ".join(part for part in parts if part),
        address,
    )


def png(image: AnswerImage) -> bytes:
    """SIZE_PX pixels."""
    return _file(image, "png")


def svg(image: AnswerImage) -> bytes:
    """Lines and text, to be changed in a drawing program."""
    return _file(image, "svg")


MEDIA_TYPES = {"png": (png, "image/png"), "svg": (svg, "image/svg+xml")}


def _file(image: AnswerImage, suffix: str) -> bytes:
    os.environ.setdefault("MPLCONFIGDIR", str(settings.DATA_DIR / "matplotlib"))  # its font list
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    out = io.BytesIO()
    with rc_context(_RC):
        width, height = SIZE_PX
        figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI, facecolor="white")
        _draw(figure, image)
        metadata = {"Title": image.headline} | ({"Date": None} if suffix == "svg" else {})
        figure.savefig(out, format=suffix, metadata=metadata)
    return out.getvalue()


def _draw(figure: Any, image: AnswerImage) -> None:
    from matplotlib.lines import Line2D

    top = 0.94
    for line in wrap(shorten(image.headline, 200, placeholder="…"), 64):
        figure.text(_LEFT, top, line, fontsize=21, fontweight="bold", color=_TEXT, va="top")
        top -= _LINE + 0.008
    top -= 0.01
    for line in wrap(shorten(image.details, 230, placeholder=" …"), 118):
        figure.text(_LEFT, top, line, fontsize=12, color=_MUTED, va="top")
        top -= _LINE * 0.75
    _draw_charts(figure, image.charts, top - 0.02)
    rule = Line2D([_LEFT, _RIGHT], [0.125] * 2, color=_GRID, transform=figure.transFigure)
    figure.add_artist(rule)
    figure.text(_LEFT, 0.105, shortened(image.foot, 130), fontsize=11, color=_TEXT, va="top")
    address = "\n".join(wrap(shortened(image.address, 210), 105, break_on_hyphens=False))
    figure.text(_LEFT, 0.068, address, fontsize=11, color=_MUTED, va="top")
    figure.text(_RIGHT, 0.045, "fsbench", fontsize=15, fontweight="bold", color=_ACCENT, ha="right")


def _draw_charts(figure: Any, panels: Sequence[tuple[str, AnswerChart]], top: float) -> None:
    """One chart over the whole width, or up to four, two beside each other."""
    columns = min(len(panels), 2)
    lines = -(-len(panels) // 2) if panels else 0
    for number, (workload, chart) in enumerate(panels):
        width, height = (_RIGHT - _LEFT) / columns, (top - 0.14) / lines
        left = _LEFT + (number % 2) * width
        bottom = 0.14 + (lines - 1 - number // 2) * height
        names, values, head = (0.2 if columns == 1 else 0.13), 0.06, 0.09
        room = height - head - 0.02
        rows = chart.rows[: int(room / _LEAST_ROW)]
        hidden = chart.hidden + len(chart.rows) - len(rows)
        plot_height = min(room, _MOST_ROW * len(rows))
        axes = figure.add_axes(
            (
                left + names,
                bottom + height - head - plot_height,
                width - names - values - 0.02 * (columns - 1),
                plot_height,
            )
        )
        title = f"Speed relative to {shortened(chart.baseline, 30)}{chart.intervals_words}"
        title = title if columns == 1 else shortened(workload, 34)
        _draw_chart(axes, replace(chart, rows=rows), 22 if columns == 1 else 13)
        figure.text(
            left,
            bottom + height - 0.005,
            f"{title} ({hidden} more)" if hidden else title,
            fontsize=11,
            color=_MUTED,
            va="top",
        )


def _draw_chart(axes: Any, chart: AnswerChart, name_characters: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(chart.low, chart.high)
    axes.set_ylim(len(chart.rows) - 0.5, -0.5)
    ticks = [tick.ratio for tick in chart.ticks]
    axes.set_xticks(ticks, [tick.label for tick in chart.ticks], fontsize=10, color=_MUTED)
    axes.set_xticks([], minor=True)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_frame_on(False)
    for tick in ticks:
        axes.axvline(tick, color=_MUTED if tick == 1 else _GRID, linewidth=1, zorder=0)
    names = [shortened(row.entry, name_characters) for row in chart.rows]
    labels = axes.set_yticks(range(len(names)), names, fontsize=12, color=_TEXT)
    for place, (row, label) in enumerate(zip(chart.rows, labels, strict=True)):
        weight = "bold" if row.is_leader else "normal"
        label.label1.set_fontweight(weight)
        colour = _TONES[row.tone]
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=colour, linewidth=3)
        axes.plot([row.ratio], [place], marker="o", markersize=9, color=colour, clip_on=False)
        axes.annotate(
            row.value,
            (1, place),
            (12, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            fontsize=12,
            fontweight=weight,
            color=_TEXT,
            va="center_baseline",
        )
