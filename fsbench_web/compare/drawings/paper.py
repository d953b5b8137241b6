"""A drawing on a page of a PDF, with ReportLab."""

from functools import lru_cache

from reportlab.lib import colors
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from fsbench_web.compare.drawings import typeface
from fsbench_web.compare.drawings.shapes import LIGHT, Drawing, Line, Rect, Shape, Text, hatching

REGULAR, BOLD, MONO = "fsbench", "fsbench-bold", "fsbench-mono"


@lru_cache(maxsize=1)
def register_fonts() -> None:
    """Once: those of the drawings."""
    for name, path in (
        (REGULAR, typeface.REGULAR),
        (BOLD, typeface.BOLD),
        (MONO, typeface.MONO),
    ):
        pdfmetrics.registerFont(TTFont(name, str(path)))
    # All four: ReportLab takes what is left out for the plain one, also where it is to be bold.
    pdfmetrics.registerFontFamily(REGULAR, REGULAR, BOLD, REGULAR, BOLD)


def put(canvas: Canvas, drawing: Drawing) -> None:
    """The shapes of a drawing, a unit of it being a unit of the canvas, from its lower left."""
    for shape in drawing.shapes:
        _put(canvas, drawing.height, shape)


def _put(canvas: Canvas, top: float, shape: Shape) -> None:
    colour = colors.HexColor(LIGHT[shape.colour])
    if isinstance(shape, Text):
        canvas.setFillColor(colour)
        canvas.setFont(BOLD if shape.bold else REGULAR, shape.size)
        draw = {
            "start": canvas.drawString,
            "middle": canvas.drawCentredString,
            "end": canvas.drawRightString,
        }[shape.anchor]
        text = _printable(shape.text)
        draw(shape.x, top - shape.y, text)
        if shape.link:
            width = pdfmetrics.stringWidth(text, BOLD if shape.bold else REGULAR, shape.size)
            left = shape.x - {"start": 0, "middle": width / 2, "end": width}[shape.anchor]
            low = top - shape.y - shape.size * 0.25
            canvas.linkURL(shape.link, (left, low, left + width, low + shape.size), thickness=0)
    elif isinstance(shape, Line):
        canvas.setStrokeColor(colour)
        canvas.setLineWidth(shape.thickness)
        canvas.line(shape.x1, top - shape.y1, shape.x2, top - shape.y2)
    elif isinstance(shape, Rect):
        canvas.setFillColor(colour)
        low = top - shape.y - shape.height
        canvas.rect(shape.x, low, shape.width, shape.height, stroke=0, fill=1)
        for line in hatching(shape) if shape.hatched else ():
            _put(canvas, top, line)


def _printable(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
