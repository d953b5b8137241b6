"""A drawing as inline SVG. Colours are classes of drawings.css, so that dark pages have theirs."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from fsbench_web.compare.drawings.shapes import LIGHT, Drawing, Line, Rect, Shape, Text, hatching


def svg(drawing: Drawing) -> SafeString:
    """An ``<svg>`` element with its words as its name; everything in it is escaped."""
    return format_html(
        '<svg class="drawing" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
        _number(drawing.width),
        _number(drawing.height),
        drawing.summary,
        format_html_join("", "{}", ((_element(shape),) for shape in drawing.shapes)),
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
        format_html_join("", "{}", ((_element(shape),) for shape in drawing.shapes)),
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{markup}'.encode()


def _element(shape: Shape) -> SafeString:
    if isinstance(shape, Text):
        words = format_html(
            '<text class="d-{}{}" x="{}" y="{}" font-size="{}" text-anchor="{}">{}</text>',
            shape.colour,
            " d-bold" if shape.bold else "",
            _number(shape.x),
            _number(shape.y),
            _number(shape.size),
            shape.anchor,
            shape.text,
        )
        return format_html('<a href="{}">{}</a>', shape.link, words) if shape.link else words
    if isinstance(shape, Line):
        return format_html(
            '<line class="d-{}" x1="{}" y1="{}" x2="{}" y2="{}" stroke-width="{}"/>',
            shape.colour,
            *map(_number, (shape.x1, shape.y1, shape.x2, shape.y2, shape.thickness)),
        )
    return format_html(
        '<rect class="d-{}" x="{}" y="{}" width="{}" height="{}"/>{}',
        shape.colour,
        *map(_number, (shape.x, shape.y, shape.width, shape.height)),
        format_html_join("", "{}", ((_element(line),) for line in _lines(shape))),
    )


def _lines(rect: Rect) -> list[Line]:
    return hatching(rect) if rect.hatched else []


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
