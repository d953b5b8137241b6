"""Speed-up over a baseline as a drawing: geometric means, and the tests as dots. Pure."""

from math import log

from fsbench_web.compare.drawings.bars import shortened
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text
from fsbench_web.compare.tables.answer import Answer

WIDTH, ROW, TOP, LEFT, RIGHT = 480.0, 26.0, 34.0, 118.0, 62.0
MOST = 12
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000)


def speedup(found: Answer) -> Drawing:
    """The first MOST contenders on a logarithmic scale; 1 is the baseline."""
    shown = found.standings[:MOST]
    low = min(0.8, *(one.lowest for one in shown))
    high = max(1.25, *(one.highest for one in shown))
    room = WIDTH - LEFT - RIGHT

    def place(ratio: float) -> float:
        return LEFT + room * (log(ratio) - log(low)) / (log(high) - log(low))

    bottom = TOP + ROW * len(shown)
    title = f"Speed over that of {found.baseline}, logarithmic: geometric mean, and each test"
    shapes: list[Shape] = [Text(0, 12, title, 10, bold=True)]
    for tick in _TICKS:
        if low <= tick <= high:
            colour = "muted" if tick == 1 else "grid"
            shapes.append(Line(place(tick), TOP - 6, place(tick), bottom, colour))
            shapes.append(Text(place(tick), TOP - 9, f"{tick:g}×", 8, "muted", "middle"))
    for number, one in enumerate(shown):
        middle = TOP + ROW * (number + 0.5)
        name = shortened(one.contender, 18)
        shapes.append(Text(LEFT - 8, middle + 3, name, 9.5, "fg", "end", number == 0))
        for _, ratio in one.ratios:
            shapes.append(Rect(place(ratio) - 2, middle - 2, 4, 4, "muted"))
        shapes.append(Rect(place(one.mean) - 2.5, middle - 9, 5, 18, "series-1"))
        shapes.append(Text(WIDTH, middle + 3, f"{one.mean:.2f}×", 9.5, "fg", "end", number == 0))
    words = "; ".join(
        f"{one.contender} {one.mean:.2f} times, {one.lowest:.2f} to {one.highest:.2f} by test"
        for one in shown
    )
    return Drawing(WIDTH, bottom + 6, f"{title}: {words}.", tuple(shapes))
