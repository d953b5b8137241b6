"""The answer of a comparison as one image: sentence, chart, and in its foot what it rests on.

``png`` and ``svg`` run in the process that draws files (fsbench_web.renderings): they import
matplotlib, which takes half a second and 40 MB.
"""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap
from typing import Any

from django.conf import settings

from fsbench_web.core import numbers
from fsbench_web.core.comparison.answer import ComparisonAnswer
from fsbench_web.core.comparison.answer_shown import (
    CAVEATS,
    FONT_SIZE,
    AnswerChart,
    answer_chart,
    basis,
    details,
    drawn,
    headline,
    shortened,
)
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.stats.answers import Answer

SIZE_PX = (1200, 630)
"""What chats show whole (OpenGraph)."""
_DPI = 100
_LEFT, _RIGHT = 0.04, 0.96
_TEXT, _MUTED, _GRID, _ACCENT = "#17202b", "#55616f", "#d5dbe3", "#0b5cad"
_TONES = {"faster": "#12693a", "slower": "#a51b1b", "even": _MUTED}
_RC: Any = {"svg.fonttype": "none", "svg.hashsalt": "fsbench", "text.parse_math": False}
_LINE = 0.052
"""The height of a line of the headline, as a share of the image."""
_SMALLEST, _LARGEST = 1.4, 2.2
"""Pixels of a unit of a chart."""


@dataclass(frozen=True)
class AnswerImage:
    """``details``: sentences below the headline; ``foot``: n, hardware and when, one line."""

    headline: str
    details: str
    charts: tuple[tuple[str, Answer], ...]
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
        tuple(drawn(found)),
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


def _draw_charts(figure: Any, panels: Sequence[tuple[str, Answer]], top: float) -> None:
    """One chart over the whole width, or up to four, two a line."""
    columns, lines = min(len(panels), 2), -(-len(panels) // 2)
    for number, (workload, answer) in enumerate(panels):
        width, height = (_RIGHT - _LEFT) / columns, (top - 0.14) / lines
        width_px, height_px = SIZE_PX[0] * (width - 0.02 * (columns - 1)), SIZE_PX[1] * height
        scale = min(_LARGEST, max(_SMALLEST, height_px / answer_chart(answer).height))
        chart = answer_chart(answer, width_px / scale, height_px / scale)
        left, bottom = _LEFT + (number % 2) * width, top - height * (number // 2)
        size = (width_px / SIZE_PX[0], chart.height * scale / SIZE_PX[1])
        axes = figure.add_axes((left, bottom - size[1], *size))
        head = chart.head if columns == 1 else shortened(workload, 34)
        more = f" ({chart.hidden} more)" if chart.hidden else ""
        _draw_chart(axes, chart, head + more, scale * 72 / _DPI)


def _draw_chart(axes: Any, chart: AnswerChart, head: str, points: float) -> None:
    """``points``: those of a unit of the chart."""
    axes.set_axis_off()
    axes.set_xlim(0, chart.width)
    axes.set_ylim(chart.height, 0)
    text = {"fontsize": FONT_SIZE * points, "color": _TEXT, "va": "baseline"}
    axes.text(0, 13, head, **text | {"color": _MUTED})
    for tick in chart.ticks:
        colour = _MUTED if tick.ratio == 1 else _GRID
        axes.plot([tick.x] * 2, [40, chart.height], color=colour, linewidth=1, zorder=0)
        axes.text(tick.x, 33, tick.label, **text | {"color": _MUTED}, ha="center")
    for row in chart.rows:
        colour, weight = _TONES[row.tone], "bold" if row.is_leader else "normal"
        axes.text(chart.names_x, row.y + 4, row.name, **text, ha="right", fontweight=weight)
        axes.text(chart.width, row.y + 4, row.value, **text, ha="right", fontweight=weight)
        if row.low_x is not None and row.high_x is not None:
            axes.plot([row.low_x, row.high_x], [row.y] * 2, color=colour, linewidth=3 * points)
        axes.plot([row.x], [row.y], marker="o", markersize=10 * points, color=colour)
