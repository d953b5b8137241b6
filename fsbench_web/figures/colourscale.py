"""Colour scales that the colour-blind can read, and the text colour for each shade.

Viridis (S. van der Walt, N. Smith, 2015); PuOr of ColorBrewer 2.0 (C. Brewer, M. Harrower).
"""

import itertools
from collections.abc import Sequence

Stops = Sequence[tuple[float, str]]


def _evenly_spaced(colours: str) -> Stops:
    named = colours.split()
    return tuple((place / (len(named) - 1), colour) for place, colour in enumerate(named))


VIRIDIS = _evenly_spaced(
    "#440154 #48186a #472d7b #424086 #3b528b #33638d #2c728e #26828e #21918c #1fa088 #28ae80 "
    "#3fbc73 #5ec962 #84d44b #addc30 #d8e219 #fde725"
)
BETWEEN = [(place / 9, colour) for place, (_, colour) in enumerate(VIRIDIS[5:15])]
"""Of Viridis what is seen on a light page and on a dark one: for cells that stand alone on it."""
DIVERGING = _evenly_spaced(
    "#7f3b08 #b35806 #e08214 #fdb863 #fee0b6 #f7f7f7 #d8daeb #b2abd2 #8073ac #542788 #2d004b"
)
DARK, LIGHT = "#000000", "#ffffff"


def as_plotly(stops: Stops) -> list[list[float | str]]:
    """The stops as plotly takes them."""
    return [[place, colour] for place, colour in stops]


def colour_at(stops: Stops, share: float) -> tuple[float, float, float]:
    """Red, green and blue (0 to 255) at ``share`` of the scale; what lies outside is its end."""
    share = min(1.0, max(0.0, share))
    for (before, first), (after, second) in itertools.pairwise(stops):
        if share <= after:
            part = (share - before) / (after - before)
            low, high = _rgb(first), _rgb(second)
            red, green, blue = (a + part * (b - a) for a, b in zip(low, high, strict=True))
            return red, green, blue
    raise ValueError("a colour scale ends at 1")


def css_at(stops: Stops, share: float) -> str:
    """The same as CSS writes it, ``rgb(1,2,3)``."""
    return f"rgb({','.join(str(round(part)) for part in colour_at(stops, share))})"


def text_on(stops: Stops, share: float) -> str:
    """Black or white, whichever reads better there: never below a contrast of 4.5 to 1."""
    background = luminance(colour_at(stops, share))
    return DARK if (background + 0.05) / 0.05 >= 1.05 / (background + 0.05) else LIGHT


def luminance(rgb: tuple[float, float, float]) -> float:
    """The relative luminance of WCAG 2.2, 0 for black and 1 for white."""

    def linear(channel: float) -> float:
        share = channel / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(channel) for channel in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> tuple[int, int, int]:
    value = int(colour[1:], 16)
    return value >> 16, value >> 8 & 255, value & 255
