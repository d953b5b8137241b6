"""Speed-up over a baseline as a drawing: geometric means, and the tests as dots. Pure.

Its words are large for its width, so that it is read on a telephone too.
"""

from math import log

from fsbench_web.compare.drawings.bars import shortened, shortened_inside
from fsbench_web.compare.drawings.shapes import Drawing, Line, Rect, Shape, Text
from fsbench_web.compare.tables.answer import Answer
from fsbench_web.core import numbers

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
    """The first MOST contenders on a logarithmic scale; 1 is the baseline."""
    standings = answer.standings[:MOST]
    low = min(0.8, *(standing.lowest for standing in standings))
    high = max(1.25, *(standing.highest for standing in standings))
    longest = max(len(numbers.ratio(standing.mean)) + 1 for standing in standings)
    start, room = LEFT + _BESIDE, WIDTH - LEFT - 2 * _BESIDE - _BOLD_LETTER * longest

    def place(ratio: float) -> float:
        return start + room * (log(ratio) - log(low)) / (log(high) - log(low))

    bottom = TOP + ROW * len(standings)
    title = f"Speed over that of {answer.baseline}, logarithmic: geometric mean, and each test"
    shapes: list[Shape] = [
        Text(0, 13, f"Speed over that of {shortened(answer.baseline, 28)},", WORDS, bold=True),
        Text(0, 28, "logarithmic: geometric mean, and each test", WORDS, bold=True),
    ]
    ticks = _FINE if high / low < 3 else _TICKS
    places = [(place(tick), f"{tick:,g}×") for tick in ticks if low <= tick <= high]
    for x, sentence in _with_room(places, place(1)):
        colour = "muted" if x == place(1) else "grid"
        shapes.append(Line(x, TOP - 4, x, bottom, colour))
        shapes.append(Text(x, TOP - 7, sentence, WORDS - 1, "muted", "middle"))
    for number, standing in enumerate(standings):
        middle = TOP + ROW * (number + 0.5)
        is_winner = number == 0 and answer.has_winner
        name = shortened_inside(standing.contender, 13 if is_winner else 14)  # it is bold
        shapes.append(Text(LEFT - 6, middle + 4, name, WORDS, "fg", "end", is_winner))
        for _, ratio in standing.ratios:
            shapes.append(Rect(place(ratio) - 2, middle - 2, 4, 4, "muted"))
        shapes.append(Rect(place(standing.mean) - 2.5, middle - 9, 5, 18, "series-1"))
        shapes.append(
            Text(
                WIDTH,
                middle + 4,
                f"{numbers.ratio(standing.mean)}×",
                WORDS,
                "fg",
                "end",
                is_winner,
            )
        )
    words = "; ".join(
        f"{standing.contender} {numbers.ratio(standing.mean)} times, "
        f"{numbers.ratio(standing.lowest)} to {numbers.ratio(standing.highest)} by test"
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
