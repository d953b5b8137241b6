"""The picture of a permalink that chats and wikis show (OpenGraph): 1200 x 630, PNG."""

import hashlib
import io

from django.utils import timezone

from fsbench_web.compare.drawings.bars import shortened
from fsbench_web.compare.drawings.charts import chart
from fsbench_web.compare.drawings.raster import image
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text, place_shape
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks.records import PinnedComparison, title_of
from fsbench_web.core import numbers

SIZE_PX = (1200, 630)
_BARS = 7


def version(link: Permalink) -> str:
    """Changes with what the picture shows, so that a chat does not keep an older one."""
    return hashlib.sha256(f"{link.sha256} {title_of(link)}".encode()).hexdigest()[:12]


def png(drawing: Drawing) -> bytes:
    """The drawing as a PNG of ``SIZE_PX``."""
    out = io.BytesIO()
    image(drawing, *SIZE_PX).save(out, "PNG", optimize=True)
    return out.getvalue()


def drawing(link: Permalink, pinned: PinnedComparison) -> Drawing:
    """The title, the chart of the first table, and what else there is."""
    title, table = title_of(link), pinned.tables[0]
    figure = chart(table, width=530, max_rows=_BARS)
    tests = {pinned_table.test for pinned_table in pinned.tables}
    count = len(pinned.tables)
    kept_on = f"Kept on {timezone.localtime(link.created_at):%Y-%m-%d}"
    more = f"{count} table{'s' * (count != 1)} of {len(tests)} test{'s' * (len(tests) != 1)}"
    runs = f", {numbers.counted(len(pinned.run_ids), 'run')}" if pinned.run_ids else ""
    shapes: list[Shape] = [
        Rect(0, 0, 600, 6, "accent"),
        *_in_lines(title, 35, 38, 2),
        Text(35, 90, shortened(pinned.description, 92), 10.5, "muted"),
        *(place_shape(shape, 35, 103) for shape in figure.shapes),
        Line(35, 284, 565, 284, "grid"),
        Text(35, 302, "fsbench", 13, "accent", "start", True),
        Text(565, 302, f"{kept_on}, {more}{runs}", 10.5, "muted", "end"),
    ]
    return Drawing(600, 315, title, tuple(shapes))


def _in_lines(text: str, x: float, y: float, limit: int) -> list[Shape]:
    """A title of at most ``limit`` lines, broken between words where it has any."""
    lines: list[str] = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) + 1 > 42:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    if len(lines) > limit:
        lines = [*lines[: limit - 1], lines[limit - 1] + "…"]
    return [
        Text(x, y + place * 25, shortened(line, 44), 20, "fg", "start", True)
        for place, line in enumerate(lines)
    ]
