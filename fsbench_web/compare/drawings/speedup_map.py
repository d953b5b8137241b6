"""How many times as fast one contender is as another, by block and file size, as a drawing. Pure.

Squares, not colours alone: the area grows with the logarithm of the ratio, so that twice as fast
and half as fast are as large, and it is read without colours too.
"""

from collections.abc import Callable, Mapping, Sequence
from math import log, sqrt

from fsbench_web.compare.drawings.bars import shortened
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text
from fsbench_web.figures.sizes import size_name

Cell = tuple[int, int]
"""(block size KB, file size KB)"""

WIDTH, ROW, TOP, LEFT, FOOT = 480.0, 19.0, 22.0, 58.0, 42.0
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
    widest = max(LEAST_RATIO, *(max(one, 1 / one) for one in ratios.values()))
    title = f"{test}: speed of {shortened(first, 18)} over {shortened(second, 18)}"
    shapes: list[Shape] = [Text(0, 12, title, 10, bold=True)]
    bottom = TOP + ROW * len(blocks)

    def top(block_kb: int) -> float:
        return bottom - ROW * (blocks.index(block_kb) + 1)

    for number, file in enumerate(files):
        if number % (1 + len(files) // 12) == 0:
            x = LEFT + wide * (number + 0.5)
            shapes.append(Text(x, bottom + 11, size_name(file), 7.5, "muted", "middle"))
    for block_kb in blocks:
        y = top(block_kb)
        shapes.append(Text(LEFT - 6, y + ROW / 2 + 3, size_name(block_kb), 8, "muted", "end"))
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
        f"{len(ratios)} data points, {min(ratios.values()):.2f} to {max(ratios.values()):.2f} "
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
    found: list[Shape] = []
    for block_kb, (_, beyond) in edges.items():
        if block_kb in blocks and beyond in files:
            x = LEFT + wide * files.index(beyond)
            found.append(Line(x, top(block_kb), x, top(block_kb) + ROW, "fg", 2))
    return found


def _foot(bottom: float, widest: float, has_edges: bool, block: str) -> list[Shape]:
    y = bottom + 28
    found: list[Shape] = [
        Rect(LEFT, y - 8, 9, 9, "series-1"),
        Text(LEFT + 13, y, "faster", 8, "muted"),
        Rect(LEFT + 52, y - 8, 9, 9, "series-2"),
        Text(LEFT + 65, y, "slower", 8, "muted"),
        Text(LEFT + 106, y, f"area: logarithm of the ratio, full at {widest:.2f}×", 8, "muted"),
        Text(0, y, f"↑ {block}", 8, "muted"),
        Text(0, y + 11, "→ file size", 8, "muted"),
    ]
    if has_edges:
        found.append(Line(LEFT + 4, y + 4, LEFT + 4, y + 13, "fg", 2))
        found.append(Text(LEFT + 13, y + 11, "cache boundary: cached left of it", 8, "muted"))
    return found
