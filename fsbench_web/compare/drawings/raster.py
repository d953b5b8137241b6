"""A drawing as pixels, with Pillow."""

from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from fsbench_web.compare.drawings import typeface
from fsbench_web.compare.drawings.shapes import LIGHT, Drawing, Line, Rect, Shape, Text, hatching

_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def image(drawing: Drawing, width_px: int, height_px: int) -> Image.Image:
    """The drawing on white, as large as fits into the given pixels, at their top left."""
    scale = min(width_px / drawing.width, height_px / drawing.height)
    picture = Image.new("RGB", (width_px, height_px), LIGHT["surface"])
    draw = ImageDraw.Draw(picture)
    for shape in drawing.shapes:
        _draw(draw, shape, scale)
    return picture


def _draw(draw: ImageDraw.ImageDraw, shape: Shape, scale: float) -> None:
    colour = LIGHT[shape.colour]
    if isinstance(shape, Text):
        draw.text(
            (shape.x * scale, shape.y * scale),
            shape.text,
            fill=colour,
            font=_font(typeface.BOLD if shape.bold else typeface.REGULAR, shape.size * scale),
            anchor=_ANCHORS[shape.anchor],
        )
    elif isinstance(shape, Line):
        ends = (shape.x1 * scale, shape.y1 * scale, shape.x2 * scale, shape.y2 * scale)
        draw.line(ends, fill=colour, width=max(1, round(shape.thickness * scale)))
    elif isinstance(shape, Rect):
        corner = (shape.x * scale, shape.y * scale)
        opposite = ((shape.x + shape.width) * scale, (shape.y + shape.height) * scale)
        draw.rectangle((corner, opposite), fill=colour)
        for line in hatching(shape) if shape.hatched else ():
            _draw(draw, line, scale)


@lru_cache(maxsize=64)
def _font(path: Path, size: float) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), size)
