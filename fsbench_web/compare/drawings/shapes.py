"""What a drawing is made of: rectangles, lines and words, the same for SVG and PNG. Pure.

Coordinates are points from the top left. A colour is a role, so that each medium can choose its
own: ``fg``, ``muted``, ``grid``, ``surface``, ``accent``, or ``series-1`` to ``series-7``
(figures.palette).
"""

from dataclasses import dataclass, replace
from typing import Literal

from fsbench_web.figures import palette

Anchor = Literal["start", "middle", "end"]

LIGHT = {
    "fg": "#17202b",
    "muted": "#55616f",
    "grid": "#d5dbe3",
    "surface": "#ffffff",
    "accent": "#0b5cad",
    "accent-soft": "#e3eefa",
} | {f"series-{number}": colour for number, colour in enumerate(palette.COLOURS, start=1)}
"""The roles as on a light page: paper and pictures have no dark mode."""


@dataclass(frozen=True)
class Rect:
    """A filled rectangle; a hatched one stands for a lower bound."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    hatched: bool = False


@dataclass(frozen=True)
class Line:
    """A line of ``thickness`` points."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = "grid"
    thickness: float = 1


@dataclass(frozen=True)
class Text:
    """Words whose baseline begins, has its middle, or ends at (x, y).

    ``link`` is where they lead, in files that have links.
    """

    x: float
    y: float
    text: str
    size: float = 9
    colour: str = "fg"
    anchor: Anchor = "start"
    bold: bool = False
    link: str = ""


Shape = Rect | Line | Text


@dataclass(frozen=True)
class Drawing:
    """Shapes on an area of points, with the same in words for whoever cannot see them."""

    width: float
    height: float
    summary: str
    shapes: tuple[Shape, ...] = ()


def place_shape(shape: Shape, x: float, y: float, times: float = 1) -> Shape:
    """The shape ``times`` as large, its origin at (x, y)."""
    if isinstance(shape, Line):
        return replace(
            shape,
            x1=x + shape.x1 * times,
            x2=x + shape.x2 * times,
            y1=y + shape.y1 * times,
            y2=y + shape.y2 * times,
            thickness=shape.thickness * times,
        )
    x, y = x + shape.x * times, y + shape.y * times
    if isinstance(shape, Text):
        return replace(shape, x=x, y=y, size=shape.size * times)
    return replace(shape, x=x, y=y, width=shape.width * times, height=shape.height * times)


def hatching(rect: Rect, step: float = 5) -> list[Line]:
    """The diagonals of a hatched rectangle, clipped to it."""
    lines = []
    offset = step
    while offset < rect.width + rect.height:
        x1, y1 = rect.x + min(offset, rect.width), rect.y + max(0.0, offset - rect.width)
        x2, y2 = rect.x + max(0.0, offset - rect.height), rect.y + min(offset, rect.height)
        lines.append(Line(x1, y1, x2, y2, "surface", 1.2))
        offset += step
    return lines
