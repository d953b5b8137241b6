"""Bar charts as shapes: one value for each contender, and write stacked on read. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text
from fsbench_web.core import numbers
from fsbench_web.figures.ceilings import Ceilings

WIDTH = 360.0
ROW = 19.0
HEAD = 36.0
LABEL_CHARACTERS = 26
MOST_ROWS = 24
_CHARACTER = 0.6  # of the size: DejaVu Sans, digits and lower case


@dataclass(frozen=True)
class Bar:
    """One bar. ``value`` None: nothing is drawn, and ``text`` says why.

    ``series`` is the number of its colour (figures.palette); ``interval`` the ends of its 95%
    interval in the unit of the value, which need not lie around it; ``repeats`` are drawn as
    dots; ``is_bound``: the value is only known to be larger.
    """

    label: str
    value: float | None
    text: str
    series: int
    is_best: bool = False
    interval: tuple[float, float] | None = None
    is_bound: bool = False
    repeats: tuple[float, ...] = ()


def bars(
    rows: Sequence[Bar],
    title: str,
    axis: str,
    *,
    width: float = WIDTH,
    max_rows: int = MOST_ROWS,
    ceilings: Ceilings | None = None,
    unit: str = "",
) -> Drawing:
    """A horizontal bar for each row, the first on top; ``axis`` says unit and direction.

    Bars start at zero. Of more than ``max_rows`` the first ones are drawn, and the number of the
    others is said. ``ceilings`` of all rows are in the unit of their values, ``unit`` by name.
    """
    drawn = list(rows[:max_rows])
    drawn_ceilings = replace(
        ceilings or Ceilings(()), values=(ceilings or Ceilings(())).values[: len(drawn)]
    )
    left, right, plot = _columns(
        [bar.label for bar in drawn], [_value_words(bar) for bar in drawn], width
    )
    # Room for the upper end of an interval and the repeats, too.
    ends = [
        max(bar.value, *(bar.interval or ()), *bar.repeats, 0)
        for bar in drawn
        if bar.value is not None
    ]
    longest = max((end for end in ends if end > 0), default=0)
    words, above = drawn_ceilings.words(unit, longest), drawn_ceilings.visible(longest)
    farthest = max(longest, *(ceiling for ceiling in above if ceiling is not None), 0)
    scale = plot / farthest if farthest else 0
    shapes = _head(title, axis)
    for place, bar in enumerate(drawn):
        top = HEAD + place * ROW
        middle = top + ROW / 2
        shapes.append(_label(bar.label, left, middle, bar.is_best))
        if bar.value is not None and bar.value > 0:
            rect = Rect(
                left, top + 3, bar.value * scale, ROW - 6, f"series-{bar.series}", bar.is_bound
            )
            shapes.append(rect)
            if bar.interval:
                shapes += _whisker(left, middle, bar.interval, scale)
            shapes += [
                Rect(left + max(0.0, repeat) * scale - 1, middle + 3, 2, 2, "fg")
                for repeat in bar.repeats
            ]
        shapes.append(Text(right, middle + 3, _value_words(bar), 8, "fg", "end", bar.is_best))
    # Strokes with gaps between the rows: where all are the same they are one dashed line.
    for place, ceiling in enumerate(above):
        if ceiling is not None:
            x, top = left + ceiling * scale, HEAD + place * ROW
            shapes.append(Line(x, top + 1.5, x, top + ROW - 1.5, "muted", 1.5))
    return _framed_drawing(
        shapes,
        len(drawn),
        len(rows) - len(drawn),
        left,
        width,
        f"{title}, {axis}: "
        + "; ".join(f"{bar.label} {bar.text}" + (" (best)" if bar.is_best else "") for bar in drawn)
        + f".{f' {words}.' if words else ''}",
        words,
    )


@dataclass(frozen=True)
class Stack:
    """Parts on top of each other; a part that is not known is None and not drawn."""

    label: str
    parts: tuple[float | None, ...]
    text: str


def stacks(
    rows: Sequence[Stack],
    names: Sequence[str],
    colours: Sequence[int],
    title: str,
    axis: str,
    *,
    width: float = WIDTH,
) -> Drawing:
    """The paper's combined charts: the parts of each row in a line, named in a legend."""
    drawn = list(rows[:MOST_ROWS])
    left, right, plot = _columns([row.label for row in drawn], [row.text for row in drawn], width)
    longest = max((sum(part or 0 for part in row.parts) for row in drawn), default=0)
    scale = plot / longest if longest else 0
    shapes = _head(title, axis)
    x = width
    for name, series in reversed(list(zip(names, colours, strict=True))):
        x -= len(name) * 8 * _CHARACTER + 18
        shapes += [
            Rect(x, 19.5, 9, 9, f"series-{series}"),
            Text(x + 12, 27.5, name, 8, "muted"),
        ]
    for place, row in enumerate(drawn):
        top = HEAD + place * ROW
        shapes.append(_label(row.label, left, top + ROW / 2, False))
        start = left
        for part, series in zip(row.parts, colours, strict=True):
            if part is not None and part > 0:
                shapes.append(Rect(start, top + 3, part * scale, ROW - 6, f"series-{series}"))
                start += part * scale
        shapes.append(Text(right, top + ROW / 2 + 3, row.text, 8, "fg", "end"))
    text = "; ".join(
        f"{row.label} "
        + ", ".join(
            f"{name} {numbers.number(part)}" for name, part in zip(names, row.parts, strict=True)
        )
        for row in drawn
    )
    summary = f"{title}, {axis}: {text}."
    return _framed_drawing(shapes, len(drawn), len(rows) - len(drawn), left, width, summary)


def shortened(text: str, max_length: int) -> str:
    """``text`` in one line of at most ``max_length``; what is cut ends in an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


def shortened_inside(text: str, max_length: int = LABEL_CHARACTERS) -> str:
    """The same, cut in the middle: long labels of configurations differ at their ends."""
    line = " ".join(text.split())
    if len(line) <= max_length:
        return line
    end = max_length // 2 - 1
    return f"{line[: max_length - end - 1]}…{line[-end:]}"


def _value_words(bar: Bar) -> str:
    return f"{bar.text} best" if bar.is_best else bar.text


def _columns(labels: Sequence[str], values: Sequence[str], width: float) -> tuple[float, ...]:
    """Where bars begin, where values end, and how long the longest bar is."""
    left = max((len(shortened_inside(label)) for label in labels), default=0) * 8.5 * _CHARACTER + 8
    value = max(map(len, values), default=0) * 8 * (_CHARACTER + 0.06) + 6
    return left, width, max(20.0, width - left - value)


def _head(title: str, axis: str) -> list[Shape]:
    return [
        Text(0, 11, shortened(title, 52), 10.5, "fg", "start", True),
        Text(0, 27, shortened(axis, 60), 8, "muted"),
    ]


def _label(label: str, left: float, middle: float, is_best: bool) -> Text:
    return Text(left - 6, middle + 3, shortened_inside(label), 8.5, "fg", "end", is_best)


def _whisker(left: float, middle: float, ends: tuple[float, float], scale: float) -> list[Shape]:
    low, high = ends
    begin, end = left + max(0.0, low) * scale, left + max(0.0, high) * scale
    centre = left + max(0.0, (low + high) / 2) * scale
    return [
        Line(begin, middle, end, middle, "fg", 1),
        Line(begin, middle - 3, begin, middle + 3, "fg", 1),
        Line(end, middle - 3, end, middle + 3, "fg", 1),
        Rect(centre - 1.5, middle - 1.5, 3, 3, "fg"),
    ]


def _framed_drawing(
    shapes: list[Shape],
    drawn: int,
    others: int,
    left: float,
    width: float,
    summary: str,
    words: str = "",
) -> Drawing:
    """``words`` stand below the bars, as the legend of what is drawn over them."""
    bottom = HEAD + drawn * ROW
    shapes.append(Line(left, HEAD, left, bottom, "muted", 1))
    if others > 0:
        shapes.append(
            Text(left, bottom + 12, f"and {others} more: all are in the table", 8, "muted")
        )
        bottom += 16
    if words:
        max_length = int(width / (8 * _CHARACTER))
        shapes.append(Text(0, bottom + 12, shortened(words, max_length), 8, "muted"))
        bottom += 16
    return Drawing(width, bottom + 4, summary, tuple(shapes))
