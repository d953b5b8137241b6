"""Speed relative to the baseline as a drawing, with 95% intervals. Pure.

Its words are large for its width, so that it is read on a telephone too.
"""

from math import log

from fsbench_web.compare.drawings.bars import shortened, shortened_inside
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text
from fsbench_web.core import numbers
from fsbench_web.core.stats.answers import Answer

WIDTH, ROW, TOP, LEFT = 340.0, 24.0, 48.0, 104.0
WORDS = 11.0
_TICK_LETTER, _TICK_GAP = 7.0, 4.0
_BOLD_LETTER, _BESIDE = 7.7, 6.0
"""How wide a bold letter is, and how far marks stay from the words on both sides."""
MOST = 12
_FINE = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 2)
"""Where all is within three times: 1 would stand alone."""
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000)


def speedup(answer: Answer) -> Drawing:
    """The first MOST entries on a logarithmic scale; 1 is the baseline."""
    standings = answer.standings[:MOST]
    ends = [end for one in standings for end in (one.ratio_low, one.ratio_high, one.ratio) if end]
    low, high = max(min(0.8, *ends), 0.001), min(max(1.25, *ends), 1000.0)
    longest = max(len(numbers.ratio(standing.ratio)) + 1 for standing in standings)
    start, room = LEFT + _BESIDE, WIDTH - LEFT - 2 * _BESIDE - _BOLD_LETTER * longest

    def place(ratio: float) -> float:
        inside = min(max(ratio, low), high)
        return start + room * (log(inside) - log(low)) / (log(high) - log(low))

    bottom = TOP + ROW * len(standings)
    title = f"Speed relative to {answer.baseline}, with 95% intervals"
    shapes: list[Shape] = [
        Text(0, 13, f"Speed relative to {shortened(answer.baseline, 28)},", WORDS, bold=True),
        Text(0, 28, "with 95% intervals, logarithmic", WORDS, bold=True),
    ]
    ticks = _FINE if high / low < 3 else _TICKS
    places = [(place(tick), f"{tick:,g}×") for tick in ticks if low <= tick <= high]
    for x, sentence in _with_room(places, place(1)):
        colour = "muted" if x == place(1) else "grid"
        shapes.append(Line(x, TOP - 4, x, bottom, colour))
        shapes.append(Text(x, TOP - 7, sentence, WORDS - 1, "muted", "middle"))
    for number, standing in enumerate(standings):
        middle = TOP + ROW * (number + 0.5)
        is_leader = standing.entry == answer.leader
        name = shortened_inside(standing.entry, 13 if is_leader else 14)  # it is bold
        shapes.append(Text(LEFT - 6, middle + 4, name, WORDS, "fg", "end", is_leader))
        if standing.ratio_low is not None and standing.ratio_high is not None:
            left, right = place(standing.ratio_low), place(standing.ratio_high)
            shapes.append(Rect(left, middle - 1.5, max(right - left, 1), 3, "series-1"))
        shapes.append(Rect(place(standing.ratio) - 2.5, middle - 9, 5, 18, "series-1"))
        ratio = f"{numbers.ratio(standing.ratio)}×"
        shapes.append(Text(WIDTH, middle + 4, ratio, WORDS, "fg", "end", is_leader))
    words = "; ".join(
        f"{standing.entry} {numbers.ratio(standing.ratio)} times"
        + (
            ""
            if standing.ratio_low is None or standing.ratio_high is None
            else f", {numbers.ratio(standing.ratio_low)} to {numbers.ratio(standing.ratio_high)}"
        )
        for standing in standings
    )
    return Drawing(WIDTH, bottom + 6, f"{title}: {words}.", tuple(shapes))


def _with_room(ticks: list[tuple[float, str]], first: float) -> list[tuple[float, str]]:
    """The (place, words) that do not lie on each other, that at ``first`` before all others."""
    placed: list[tuple[float, str]] = []
    for position, words in sorted(ticks, key=lambda tick: abs(tick[0] - first)):
        room = (
            (x, _TICK_GAP + _TICK_LETTER * (len(words) + len(other)) / 2) for x, other in placed
        )
        if all(abs(position - x) >= least for x, least in room):
            placed.append((position, words))
    return placed
