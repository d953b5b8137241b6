"""A slide as a file: PNG, SVG. Made in the process that draws up (fsbench_web.renderings)."""

import io
from collections.abc import Callable
from typing import NamedTuple

from fsbench_web.compare.drawings.raster import image
from fsbench_web.compare.drawings.shapes import Drawing
from fsbench_web.compare.drawings.svg import standalone

SIZE_PX = (1920, 1080)


def png(drawing: Drawing) -> bytes:
    """1920 x 1080 pixels."""
    out = io.BytesIO()
    image(drawing, *SIZE_PX).save(out, "PNG", optimize=True)
    return out.getvalue()


def svg(drawing: Drawing) -> bytes:
    """Shapes and text, to be changed in a drawing program."""
    return standalone(drawing)


class Format(NamedTuple):
    """How a slide is written as a file."""

    write: Callable[[Drawing], bytes]
    media_type: str


FORMATS = {
    "png": Format(png, "image/png"),
    "svg": Format(svg, "image/svg+xml"),
}
