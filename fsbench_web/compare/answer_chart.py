"""The chart of an answer: a row per entry, a dot and its 95% interval, on one scale. Pure.

``compare/answer_chart.html`` draws it in pages, ``answer_image`` as PNG and SVG files.
"""

from dataclasses import dataclass
from math import floor, log

from fsbench_web.core import numbers
from fsbench_web.core.stats.answers import Answer, Standing

MOST_ROWS = 12
LOWEST, HIGHEST = 0.001, 1000.0
_STEPS = (1.05, 1.1, 1.2, 1.5, 2, 4, 10, 100)
_MOST_TICKS = 4
_NAME_CHARACTERS = 13
_TOP, _ROW_HEIGHT, _LEFT, _RIGHT = 46.0, 24.0, 112.0, 282.0


@dataclass(frozen=True)
class Row:
    """One entry. ``tone``: "faster" or "slower" where the answer has a leader and the interval
    excludes 1, else "even".

    ``x``, ``low_x``, ``high_x`` and ``y`` are units of the inline SVG, which is 340 wide.
    """

    entry: str
    ratio: float
    low: float | None
    high: float | None
    tone: str
    is_leader: bool
    x: float
    low_x: float | None
    high_x: float | None
    y: float

    @property
    def name(self) -> str:
        return shortened(self.entry, _NAME_CHARACTERS)

    @property
    def value(self) -> str:
        return f"{numbers.ratio(self.ratio)}×"

    @property
    def words(self) -> str:
        """``xfs 1.09 times, 1.06 to 1.12``."""
        text = f"{self.entry} {numbers.ratio(self.ratio)} times"
        if self.low is None or self.high is None:
            return text
        return f"{text}, {numbers.ratio(self.low)} to {numbers.ratio(self.high)}"


@dataclass(frozen=True)
class Tick:
    """A ratio on the scale; that of 1 is the line of the baseline."""

    ratio: float
    x: float

    @property
    def label(self) -> str:
        is_plain = 0.1 <= self.ratio < 100
        return f"{round(self.ratio, 2) if is_plain else self.ratio:,.4g}×"


@dataclass(frozen=True)
class AnswerChart:
    """The scale is logarithmic and goes from ``low`` to ``high``, ratios to the baseline."""

    baseline: str
    low: float
    high: float
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    hidden: int

    @property
    def title(self) -> str:
        """The chart in words, for readers who cannot see it."""
        entries = "; ".join(row.words for row in self.rows)
        return f"Speed relative to {self.baseline}{self.intervals_words}: {entries}."

    @property
    def intervals_words(self) -> str:
        """What stands behind the title; "" where no entry has an interval."""
        return ", 95% intervals" if any(row.low is not None for row in self.rows) else ""

    @property
    def height(self) -> float:
        return _TOP + _ROW_HEIGHT * len(self.rows) + 6


def answer_chart(answer: Answer, most_rows: int = MOST_ROWS) -> AnswerChart:
    """The first ``most_rows`` entries, fastest first; 1 is the baseline."""
    standings = answer.standings[:most_rows]
    ends = [end for one in standings for end in (one.ratio_low, one.ratio_high, one.ratio) if end]
    low, high = max(min(0.8, *ends), LOWEST), min(max(1.25, *ends), HIGHEST)

    def place(ratio: float) -> float:
        position = log(min(max(ratio, low), high) / low) / log(high / low)
        return round(_LEFT + position * (_RIGHT - _LEFT), 1)

    rows = tuple(
        Row(
            one.entry,
            *(
                one.ratio,
                one.ratio_low,
                one.ratio_high,
                _tone(one, answer),
                one.entry == answer.leader,
            ),
            x=place(one.ratio),
            low_x=None if one.ratio_low is None else place(one.ratio_low),
            high_x=None if one.ratio_high is None else place(one.ratio_high),
            y=_TOP + _ROW_HEIGHT * (number + 0.5),
        )
        for number, one in enumerate(standings)
    )
    ticks = tuple(Tick(ratio, place(ratio)) for ratio in _tick_ratios(low, high))
    return AnswerChart(answer.baseline, low, high, rows, ticks, len(answer.standings) - len(rows))


def shortened(text: str, max_length: int) -> str:
    """One line; an ellipsis stands for its middle, since configurations differ at their ends."""
    line = " ".join(text.split())
    if len(line) <= max_length:
        return line
    end = max_length // 2 - 1
    return f"{line[: max_length - end - 1]}…{line[-end:]}"


def _tick_ratios(low: float, high: float) -> list[float]:
    """Powers of the finest step that gives at most _MOST_TICKS: evenly spaced, 1 among them."""
    for step in _STEPS:
        first, last = -floor(-log(low) / log(step)), floor(log(high) / log(step))
        if last - first < _MOST_TICKS:
            break
    return [float(step**power) for power in range(first, last + 1)]


def _tone(standing: Standing, answer: Answer) -> str:
    """Colours belong to a proven order: none where the answer has no leader."""
    if answer.leader is None:
        return "even"
    if standing.ratio_low is not None and standing.ratio_low > 1:
        return "faster"
    if standing.ratio_high is not None and standing.ratio_high < 1:
        return "slower"
    return "even"
