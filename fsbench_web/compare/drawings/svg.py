"""A drawing as inline SVG. Colours are classes of drawings.css, so that dark pages have theirs."""

from collections.abc import Iterable
from html import escape

from django.utils.html import format_html
from django.utils.safestring import SafeString

from fsbench_web.compare.drawings.shapes import LIGHT, Drawing, Line, Rect, Shape, Text, hatching


def svg(drawing: Drawing) -> SafeString:
    """An ``<svg>`` element with its words as its name; everything in it is escaped."""
    return format_html(
        '<svg class="drawing" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
        _number(drawing.width),
        _number(drawing.height),
        drawing.summary,
        _elements(drawing.shapes),
    )


def standalone(drawing: Drawing) -> bytes:
    """The same as a file that needs no style sheet: colours are those of a light page."""
    style = "".join(
        f".d-{role}{{fill:{colour}}}line.d-{role}{{stroke:{colour}}}"
        for role, colour in LIGHT.items()
    )
    width, height = _number(drawing.width), _number(drawing.height)
    markup = format_html(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}" '
        'role="img" font-family="DejaVu Sans, Verdana, sans-serif"><title>{}</title>'
        '<style>{}.d-bold{{font-weight:700}}</style><rect class="d-surface" width="{}" '
        'height="{}"/>{}</svg>\n',
        *(width, height, width, height, drawing.summary, SafeString(style), width, height),
        _elements(drawing.shapes),
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{markup}'.encode()


def _elements(shapes: Iterable[Shape]) -> SafeString:
    return SafeString("".join(map(_element, shapes)))


def _element(shape: Shape) -> str:
    """As text and not by ``format_html``: a page has more than a hundred, of numbers and names of
    classes but for two texts, and each argument would be looked at by itself.
    """
    if isinstance(shape, Text):
        bold = " d-bold" if shape.bold else ""
        x, y, size = map(_number, (shape.x, shape.y, shape.size))
        words = (
            f'<text class="d-{shape.colour}{bold}" x="{x}" y="{y}" font-size="{size}" '
            f'text-anchor="{shape.anchor}">{escape(shape.text)}</text>'
        )
        return f'<a href="{escape(shape.link)}">{words}</a>' if shape.link else words
    if isinstance(shape, Line):
        x1, y1, x2, y2 = map(_number, (shape.x1, shape.y1, shape.x2, shape.y2))
        return (
            f'<line class="d-{shape.colour}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" '
            f'stroke-width="{_number(shape.thickness)}"/>'
        )
    x, y, width, height = map(_number, (shape.x, shape.y, shape.width, shape.height))
    return (
        f'<rect class="d-{shape.colour}" x="{x}" y="{y}" width="{width}" height="{height}"/>'
        f"{_elements(_lines(shape))}"
    )


def _lines(rect: Rect) -> list[Line]:
    return hatching(rect) if rect.hatched else []


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
