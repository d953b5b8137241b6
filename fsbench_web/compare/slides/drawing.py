"""A slide as a drawing, 16:9. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fsbench_web.compare.drawings.bars import shortened, shortened_inside
from fsbench_web.compare.drawings.charts import chart, table_title
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text, place_shape
from fsbench_web.compare.selection import wording
from fsbench_web.compare.tables import emulation
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring.confidence import REPEATS, SAMPLES, TRIALS
from fsbench_web.core.versions import version_key
from fsbench_web.studies.scores.queries import EMULATED

WIDTH, HEIGHT = 960.0, 540.0
MOST_BARS = 12
_LEFT, _RIGHT = 48.0, 912.0
_CHART_TOP, _CHART_BOTTOM, _FLAGS = 152.0, 438.0, 450.0
_FOOT = 10.5
_ADDRESS_CHARACTERS = 130
"""Of a line of the foot, beside the name at its end."""
_SMALL = 8.5
_SMALL_CHARACTERS = 160
_SMALL_LINES = 4
"""Of an address that two lines do not hold."""
_LARGEST = 2.1
"""How many times as large as on a page a chart of few bars is."""
_INTERVALS_OF = {
    REPEATS: "means of repeats",
    TRIALS: "trials of single runs",
    SAMPLES: "samples of single runs",
}


@dataclass(frozen=True)
class Slide:
    """What a slide says. ``address`` is where its numbers are; ``kept_since`` since when they are
    kept, if they are.
    """

    sentence: str
    table: DeltaTable
    address: str
    kept_since: str = ""


def drawing(slide: Slide, among: Iterable[str] = ()) -> Drawing:
    """The sentence, the chart of the table, and in the foot what it rests on."""
    figure = chart(slide.table, max_rows=MOST_BARS)  # its height, whatever its width
    times = min(_LARGEST, (_CHART_BOTTOM - _CHART_TOP) / figure.height)
    width = (_RIGHT - _LEFT) / times
    figure = chart(slide.table, width=width, max_rows=MOST_BARS, among=among)
    foot, flags = [shortened(line, 150) for line in foot_of(slide)], flags_of(slide.table)
    shapes: list[Shape] = [
        Rect(0, 0, WIDTH, 8, "accent"),
        *_sentence(slide.sentence),
        *(place_shape(shape, _LEFT, _CHART_TOP, times) for shape in figure.shapes),
        *([Text(_LEFT, _FLAGS, shortened(flags, 150), _FOOT, "fg")] if flags else []),
        Line(_LEFT, 456, _RIGHT, 456, "grid", 1),
        *_foot(foot, slide.address),
        Text(_RIGHT, 524, "fsbench", 13, "accent", "end", True),
    ]
    summary = (
        f"{slide.sentence} {figure.summary} {' '.join([flags, *foot_of(slide)])} {slide.address}"
    )
    return Drawing(WIDTH, HEIGHT, summary, tuple(shapes))


def address_lines(address: str) -> list[str]:
    """One line or two, of a longer address four in smaller letters, broken behind an "&" where that
    fits: together they are the address. What is longer than these is cut in its middle.
    """
    for width, count in ((_ADDRESS_CHARACTERS, 2), (_SMALL_CHARACTERS, _SMALL_LINES)):
        if len(address) <= width * count:
            return _wrapped_lines(address, width, count)
    return _wrapped_lines(
        shortened_inside(address, _SMALL_CHARACTERS * _SMALL_LINES),
        *(_SMALL_CHARACTERS, _SMALL_LINES),
    )


def _wrapped_lines(text: str, width: int, count: int) -> list[str]:
    """At most ``count`` lines, which hold it all."""
    lines: list[str] = []
    while len(text) > width:
        end = text.rfind("&", 0, width) + 1
        left = count - len(lines) - 1
        if not end or len(text) - end > width * left:
            end = width
        lines.append(text[:end])
        text = text[end:]
    return [*lines, text]


def _foot(sentences: Sequence[str], address: str) -> list[Shape]:
    """Closer together the more lines the address takes; each of these leads there."""
    lines = address_lines(address)
    size, top, step, end, leading = _FOOT, 474, 15, 524.0, 0.0
    if len(lines) > 1:
        top, step, end, leading = 470, 14, 514.0, 13.0
    if len(address) > 2 * _ADDRESS_CHARACTERS:
        size, top, step, end, leading = _SMALL, 466, 12, 501.0, 9.5
    return [
        *(
            Text(_LEFT, top + step * place, line, _FOOT, "muted")
            for place, line in enumerate(sentences)
        ),
        *(
            Text(_LEFT, end + leading * place, line, size, "muted", link=address)
            for place, line in enumerate(lines)
        ),
    ]


def foot_of(slide: Slide) -> list[str]:
    """Study, n and interval; hardware and kernel; what is not known is said to be not stated."""
    table = slide.table
    studies = _joined_names({row.study_title for row in table.rows}, "not stated")
    hardware = _joined_names({row.hardware for row in table.rows if row.hardware}, "not stated")
    kernels = {row.kernel for row in table.rows if row.kernel}
    in_order = sorted(kernels, key=version_key)
    kernel = f"; kernel: {wording.joined(in_order, 3)}" if kernels else ""
    kept_on = f"; {slide.kept_since}" if slide.kept_since else ""
    return [
        f"{table_title(table)}; study: {studies}{kept_on}",
        f"{_count(table)}; {_intervals(table)}{_ratio_words(table)}",
        f"Hardware: {hardware}{kernel}",
    ]


def flags_of(table: DeltaTable) -> str:
    """What pages warn of beside these numbers, emulated ones first; "" for nothing."""
    state = emulation.state_of([table])
    # Where all is emulated the sentence says so.
    in_sentence = {EMULATED} if state == emulation.ONLY else set()
    flags = wording.flags_in_words(
        {
            row.contender: [flag for flag in row.flags if flag not in in_sentence]
            for row in table.rows
        }
    )
    cells = "scores of different data points" if table.has_different_cells else ""
    marks = "; ".join(part for part in (flags, cells) if part)
    return " ".join(part for part in (emulation.SENTENCES.get(state, ""), marks) if part)


def _ratio_words(table: DeltaTable) -> str:
    """What 1.00 is of ratios, and how much of the work was measured."""
    work = table.work
    if work is None:
        return ""
    return f"; {f'1.00 is {work.baseline}; ' if work.is_ratio else ''}{work.headline}"


def _count(table: DeltaTable) -> str:
    run_counts = sorted({row.runs for row in table.rows if row.runs is not None})
    if not run_counts:
        return "n: not stated"
    runs = str(run_counts[0]) if len(run_counts) == 1 else f"{run_counts[0]} to {run_counts[-1]}"
    missing = any(row.runs is None for row in table.rows)
    noun = "run" if runs == "1" else "runs"
    return f"n = {runs} {noun} of each{', of some not stated' if missing else ''}"


def _intervals(table: DeltaTable) -> str:
    intervals = [row.interval for row in table.rows if row.interval]
    if not intervals:
        return "no interval: single runs, or published without their repeats"
    kinds = {interval.of for interval in intervals}
    kind_words = " and ".join(words for kind, words in _INTERVALS_OF.items() if kind in kinds)
    count = (
        "" if len(intervals) == len(table.rows) else f" of {len(intervals)} of {len(table.rows)}"
    )
    return f"lines: 95% intervals of the {kind_words}{count} (Student's t)"


def _joined_names(names: Iterable[str], fallback: str) -> str:
    return wording.joined(sorted(names), 3) or fallback


def _sentence(text: str) -> list[Shape]:
    """In as large letters as three lines of it leave, from 30 points down."""
    for size, line_limit in ((30.0, 2), (25.0, 3), (20.0, 4)):
        lines = _lines(text, int((_RIGHT - _LEFT) / (size * 0.63)))
        if len(lines) <= line_limit:
            break
    lines = lines[:4]
    return [
        Text(_LEFT, 24 + size * 1.05 + place * size * 1.2, line, size, "fg", "start", True)
        for place, line in enumerate(lines)
    ]


def _lines(text: str, width: int) -> Sequence[str]:
    """Broken between words, and a word that is longer than a line within it."""
    lines = [""]
    for word in text.split():
        rest = word
        while rest:
            room = width - len(lines[-1]) - (1 if lines[-1] else 0)
            if len(rest) <= room:
                lines[-1] = f"{lines[-1]} {rest}".strip()
                break
            if len(rest) <= width or not lines[-1]:
                if lines[-1]:
                    lines.append("")
                    continue
                lines[-1], rest = rest[:width], rest[width:]
                if rest:
                    lines.append("")
                continue
            lines.append("")
    return lines
