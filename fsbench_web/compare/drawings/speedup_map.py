"""How many times as fast one contender is as another, by block and file size, as a drawing. Pure.

Squares, not colours alone: the area grows with the logarithm of the ratio, so that twice as fast
and half as fast are as large, and it is read without colours too. Its words are large for its
width: the same drawing is read on a telephone, where it is as wide as it is here in points.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, log, sqrt

from fsbench_web.compare.drawings.bars import shortened
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text
from fsbench_web.core import numbers
from fsbench_web.figures.sizes import size_name

Cell = tuple[int, int]
"""(block size KB, file size KB)"""

WIDTH, ROW, TOP, LEFT, FOOT = 340.0, 19.0, 38.0, 52.0, 64.0
WORDS = 11.0
"""The size of its words."""
_LETTER = 0.62 * WORDS
MOST_SIZES = 20
LEAST_RATIO = 1.25
"""What fills a cell at least, so that noise of a percent does not look like a victory."""


def speedup_map(
    ratios: Mapping[Cell, float],
    first: str,
    second: str,
    test: str,
    edges: Mapping[int, tuple[int, int]] | None = None,
    block: str = "block",
) -> Drawing | None:
    """Blocks upwards, files rightwards; None where there are too many sizes for a small drawing.

    ``ratios`` are of speed, first over second. ``edges`` are the cache boundary, {block KB: (last
    file KB within it, first beyond it)}.
    """
    blocks = sorted({cell[0] for cell in ratios})
    files = sorted({cell[1] for cell in ratios})
    if len(ratios) < 2 or max(len(blocks), len(files)) > MOST_SIZES:
        return None
    wide = min((WIDTH - LEFT) / len(files), 60.0)
    widest = max(LEAST_RATIO, *(max(ratio, 1 / ratio) for ratio in ratios.values()))
    pair = f"speed of {shortened(first, 17)} over {shortened(second, 17)}"
    title = f"{test}: {pair}"
    shapes: list[Shape] = [
        Text(0, 13, shortened(test, 44), WORDS, bold=True),
        Text(0, 28, pair, WORDS, bold=True),
    ]
    bottom = TOP + ROW * len(blocks)

    def top(block_kb: int) -> float:
        return bottom - ROW * (blocks.index(block_kb) + 1)

    longest = max(len(size_name(file)) for file in files) + 1
    step = ceil(longest * _LETTER / wide)
    for number, file in enumerate(files):
        if number % step == 0:
            x = LEFT + wide * (number + 0.5)
            shapes.append(Text(x, bottom + 14, size_name(file), WORDS, "muted", "middle"))
    for block_kb in blocks:
        y = top(block_kb)
        shapes.append(Text(LEFT - 5, y + ROW / 2 + 4, size_name(block_kb), WORDS, "muted", "end"))
        shapes.append(Line(LEFT, y + ROW, LEFT + wide * len(files), y + ROW))
    for (block_kb, file), ratio in sorted(ratios.items()):
        side = max(1.0, (min(wide, ROW) - 3) * sqrt(abs(log(ratio)) / log(widest)))
        x = LEFT + wide * (files.index(file) + 0.5) - side / 2
        y = top(block_kb) + (ROW - side) / 2
        shapes.append(Rect(x, y, side, side, "series-1" if ratio >= 1 else "series-2"))
    shapes += _boundary(edges or {}, blocks, files, wide, top)
    shapes += _foot(bottom, widest, bool(edges), block)
    faster = sum(ratio > 1 for ratio in ratios.values())
    words = (
        f"{title}, file size rightwards by {block} size upwards: faster in {faster} of "
        f"{len(ratios)} data points, {numbers.ratio(min(ratios.values()))} to "
        f"{numbers.ratio(max(ratios.values()))} "
        "times as fast."
    )
    return Drawing(WIDTH, bottom + FOOT, words, tuple(shapes))


def _boundary(
    edges: Mapping[int, tuple[int, int]],
    blocks: Sequence[int],
    files: Sequence[int],
    wide: float,
    top: Callable[[int], float],
) -> list[Shape]:
    """Between the last file within the cache and the first beyond it, where both are drawn."""
    shapes: list[Shape] = []
    for block_kb, (_, beyond) in edges.items():
        if block_kb in blocks and beyond in files:
            x = LEFT + wide * files.index(beyond)
            shapes.append(Line(x, top(block_kb), x, top(block_kb) + ROW, "fg", 2))
    return shapes


def _foot(bottom: float, widest: float, has_edges: bool, block: str) -> list[Shape]:
    y = bottom + 31
    shapes: list[Shape] = [
        Text(0, y, f"↑ {block}  → file size", WORDS, "muted"),
        Rect(WIDTH - 122, y - 9, 9, 9, "series-1"),
        Text(WIDTH - 109, y, "faster", WORDS, "muted"),
        Rect(WIDTH - 58, y - 9, 9, 9, "series-2"),
        Text(WIDTH - 45, y, "slower", WORDS, "muted"),
        Text(0, y + 15, f"area: logarithm of the ratio, full at {widest:.2f}×", WORDS, "muted"),
    ]
    if has_edges:
        shapes.append(Line(4, y + 20, 4, y + 31, "fg", 2))
        shapes.append(Text(13, y + 30, "cache boundary: cached left of it", WORDS, "muted"))
    return shapes
