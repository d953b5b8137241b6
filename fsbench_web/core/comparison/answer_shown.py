"""The answer of a comparison in words and as a chart. Pure. Only "faster" names a leader."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, inf, log
from typing import Any

from fsbench_web.core import numbers
from fsbench_web.core.comparison.answer import (
    BUSY_MACHINE,
    CEILING_UNRELIABLE,
    CONDITIONS_DIFFER,
    NO_COMMON_TEST,
    ONE_BLOCK,
    ONE_ENTRY,
    PAGE_CACHE,
    PROMISES_DIFFER,
    TIMER_RESOLUTION,
    ComparisonAnswer,
    WorkloadAnswer,
)
from fsbench_web.core.comparison.rows import shown_names
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.profiles.coverage import NOTES
from fsbench_web.core.stats.answers import (
    EQUIVALENT,
    FASTER,
    MIXED,
    Answer,
    Standing,
)
from fsbench_web.core.stats.verdicts import outlook_words

MOST_ROWS = 12
LOWEST, HIGHEST = 0.001, 1000.0
_STEPS = (1.05, 1.1, 1.2, 1.5, 2, 4, 10, 100)
_MOST_TICKS = 4
_WIDTH, _NAMES_WIDTH, FONT_SIZE = 340.0, 104.0, 11.0
_CHARACTER, _VALUES_WIDTH, _NAMES_SHARE = 8.0, 58.0, 0.24
_TOP, _FOOT, _ROW_HEIGHT, _LEAST_ROW_HEIGHT = 46.0, 6.0, 24.0, 15.0


@dataclass(frozen=True)
class Row:
    """One entry of the drawing. ``tone``: "faster" or "slower" than a proven order, else "even"."""

    entry: str
    name: str
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
    """An SVG of ``width`` by ``height``: speed ratios to ``baseline`` on a logarithmic scale."""

    baseline: str
    width: float
    height: float
    names_x: float
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    hidden: int

    @property
    def title(self) -> str:
        entries = "; ".join(row.words for row in self.rows)
        return f"Speed relative to {self.baseline}{self._intervals_words}: {entries}."

    @property
    def head(self) -> str:
        return f"Speed relative to {shortened(self.baseline, 20)}{self._intervals_words}"

    @property
    def _intervals_words(self) -> str:
        return ", 95% intervals" if any(row.low is not None for row in self.rows) else ""


def answer_chart(answer: Answer, width: float = _WIDTH, most_height: float = inf) -> AnswerChart:
    """The first MOST_ROWS entries that fit, fastest first; 1 is the baseline."""
    room = most_height - _TOP - _FOOT
    standings = answer.standings[: max(1, int(min(MOST_ROWS, room / _LEAST_ROW_HEIGHT)))]
    row_height = min(_ROW_HEIGHT, room / len(standings))
    names_x = max(_NAMES_WIDTH, _NAMES_SHARE * width)
    left, right = names_x + _CHARACTER, width - _VALUES_WIDTH
    ends = [end for one in standings for end in (one.ratio_low, one.ratio_high, one.ratio) if end]
    low, high = max(min(0.8, *ends), LOWEST), min(max(1.25, *ends), HIGHEST)

    def place(ratio: float) -> float:
        position = log(min(max(ratio, low), high) / low) / log(high / low)
        return round(left + position * (right - left), 1)

    rows = tuple(
        Row(
            one.entry,
            shortened(one.entry, int(names_x / _CHARACTER)),
            one.ratio,
            one.ratio_low,
            one.ratio_high,
            _tone(one, answer),
            one.entry == answer.leader,
            x=place(one.ratio),
            low_x=None if one.ratio_low is None else place(one.ratio_low),
            high_x=None if one.ratio_high is None else place(one.ratio_high),
            y=round(_TOP + row_height * (number + 0.5), 1),
        )
        for number, one in enumerate(standings)
    )
    return AnswerChart(
        answer.baseline,
        width,
        _TOP + row_height * len(rows) + _FOOT,
        names_x,
        rows,
        tuple(Tick(ratio, place(ratio)) for ratio in _tick_ratios(low, high)),
        len(answer.standings) - len(rows),
    )


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


# The answer in words.

NO_CLEAR_WINNER = "No clear winner"
NAMED = 3
WORKLOADS_DRAWN = 4
CAVEATS = {
    PAGE_CACHE: "Page cache, not disk: the data fit into memory and I/O was buffered.",
    CEILING_UNRELIABLE: "The disk's own speed is unreliable: scores exceed it, or its probes vary.",
    TIMER_RESOLUTION: "Some values are at the limit of the tool's timer resolution.",
    BUSY_MACHINE: "Other work ran on the machine during some runs.",
    CONDITIONS_DIFFER: "Different workloads measured the entries: file size, runtime or tool "
    "version may differ.",
    PROMISES_DIFFER: "Some entries flushed the disk too rarely for their syncs, or failed crash "
    "points; others did not.",
    **NOTES,
    ONE_BLOCK: "No repeats: the difference may be chance.",
}
_MISSING = {
    "": "There are no scores yet.",
    ONE_ENTRY: "Only one entry here, so there is nothing to compare.",
    NO_COMMON_TEST: "No test has a speed above 0 for every entry.",
}


def answer_context(answer: ComparisonAnswer) -> dict[str, Any]:
    """What compare/answer.html says of the answer, wherever it stands."""
    return {
        "answer": answer,
        "headline": headline(answer),
        "details": details(answer),
        "basis": basis(answer),
        "caveats": [(code, CAVEATS[code]) for code in answer.caveats],
        "charts": [(name, answer_chart(one)) for name, one in drawn(answer)],
    }


def drawn(found: ComparisonAnswer) -> list[tuple[str, Answer]]:
    """(title, answer) of the workloads that have a chart: the first WORKLOADS_DRAWN."""
    drawn_first = _with_shown_names(found).workloads[:WORKLOADS_DRAWN]
    return [(work.workload or "Other tests", work.answer) for work in drawn_first]


def _with_shown_names(found: ComparisonAnswer) -> ComparisonAnswer:
    """The same answer with its entries as people read them."""
    names = shown_names(name for work in found.workloads for name in work.answer.entries)
    return replace(
        found,
        workloads=tuple(
            replace(work, answer=_renamed(work.answer, names)) for work in found.workloads
        ),
    )


def _renamed(one: Answer, names: Mapping[str, str]) -> Answer:
    return replace(
        one,
        entries=tuple(names[entry] for entry in one.entries),
        baseline=names[one.baseline],
        standings=tuple(each._replace(entry=names[each.entry]) for each in one.standings),
        wins={names[entry]: tests for entry, tests in one.wins.items()},
        lost_to={test: names[entry] for test, entry in one.lost_to.items()},
    )


def headline(found: ComparisonAnswer) -> str:
    """The answer in one sentence or two: who is faster, by how much, between which ends."""
    if not found.workloads:
        return f"Nothing to compare. {_MISSING[found.missing]}"
    found = _with_shown_names(found)
    place = f" for {found.profile}" if found.profile else ""
    if len(found.workloads) == 1:
        return _of_one(found.workloads[0].answer, place, is_published=found.is_published)
    return _of_several(found)


def details(found: ComparisonAnswer) -> list[str]:
    """What stands below the headline: tests won and lost, the other entries, each workload."""
    found = _with_shown_names(found)
    if len(found.workloads) > 1:
        return [
            f"{work.workload or 'Other tests'}: "
            + _of_one(work.answer, "", is_published=found.is_published)
            for work in found.workloads
        ]
    sentences = []
    for work in found.workloads:
        one = work.answer
        if one.verdict is not None and one.status != MIXED:
            sentences.append(_tests(one))
        sentences += _others(one)
        if advice := outlook_words(one.outlook, one.more_blocks):
            sentences.append(advice)
    return sentences


def basis(found: ComparisonAnswer) -> str:
    """What it rests on: ``5 rounds, paired``, ``4 to 5 runs each``, ``published figures``."""
    if not found.workloads:
        return ""
    if found.is_published:
        return "published figures"
    one = found.workloads[0].answer
    if one.blocks:
        return f"{one.blocks} rounds, paired"
    low, high = one.repeats
    if high == 1:
        return "one run each"
    return f"{low if low == high else f'{low} to {high}'} runs each"


def _of_one(one: Answer, place: str, *, is_published: bool) -> str:
    first, second = one.first, one.runner_up
    if one.status == FASTER:
        return (
            f"{first} is {faster_words(one.ratio, _digits(one))} {second}{place}{_interval(one)}."
        )
    if one.status == EQUIVALENT and one.verdict is not None:
        margin = f"{one.verdict.equivalence_percent:g}%"
        return (
            f"{first} and {second} are equivalent{place}: "
            f"they differ by less than {margin}{_interval(one)}."
        )
    if one.status == MIXED:
        wins = sorted(one.wins.items(), key=lambda pair: -len(pair[1]))
        parts = [
            f"{entry} is faster in {_count(tests, 'test')}"
            if number == 0
            else f"{entry} in {len(tests)}"
            for number, (entry, tests) in enumerate(wins)
        ]
        return f"It depends on the test{place}: {', '.join(parts)}."
    estimate = f"{first} {_times(one.ratio)}× {second}"
    if one.verdict is not None:
        return f"{NO_CLEAR_WINNER}{place}: {estimate}{_interval(one)}."
    if is_published:
        return (
            f"{NO_CLEAR_WINNER}{place}: {estimate} by published figures. "
            "Without repeats nobody can tell whether that is chance."
        )
    why = "One run each" if one.repeats[1] == 1 else "Not every score has repeats"
    return f"{NO_CLEAR_WINNER}{place}: {estimate}. {why}: not enough to tell."


def _of_several(found: ComparisonAnswer) -> str:
    count = len(found.workloads)
    if found.status == FASTER and found.deciding is not None:
        others = {work.answer.runner_up for work in found.workloads}
        second = f" than {others.pop()}" if len(others) == 1 else ""
        return (
            f"{found.leader} is faster{second} in all {count} workloads, "
            f"by {_span(found.workloads)}."
        )
    if found.status == MIXED:
        leaders = [
            f"{work.answer.leader} is faster for {work.workload or 'other tests'}"
            for work in found.workloads
            if work.answer.leader is not None
        ]
        more = f", and {len(leaders) - NAMED} more" if len(leaders) > NAMED else ""
        return f"It depends on the workload: {', '.join(leaders[:NAMED])}{more}.".replace(
            "workload: .", "workload."
        )
    if found.status == EQUIVALENT:
        return f"The fastest entries are equivalent in all {count} workloads."
    proven = sum(work.answer.status == FASTER for work in found.workloads)
    return f"{NO_CLEAR_WINNER} over {count} workloads: {proven or 'none'} of them has one."


def _span(workloads: Sequence[WorkloadAnswer]) -> str:
    ratios = sorted(work.answer.ratio for work in workloads)
    low, high = (f"{100 * (ratio - 1):.0f}%" for ratio in (ratios[0], ratios[-1]))
    return low if low == high else f"{low} to {high}"


def faster_words(ratio: float, digits: int = 0) -> str:
    """``9% faster than``, ``2.34 times as fast as``."""
    if ratio >= 2:
        return f"{_times(ratio)} times as fast as"
    return f"{_percent(ratio, digits)} faster than"


def _digits(one: Answer) -> int:
    """How many decimals a percentage has: one where the interval is narrower than 2%."""
    if one.ratio_low is None or one.ratio_high is None:
        return 0
    return 1 if one.ratio_high - one.ratio_low < 0.02 else 0


def _interval(one: Answer) -> str:
    if one.ratio_low is None or one.ratio_high is None:
        return ""
    low, high = one.ratio_low, one.ratio_high
    if one.status == FASTER and one.ratio < 2:
        digits = _digits(one)
        return f" (95%: {_percent(low, digits)} to {_percent(high, digits)})"
    return f" (95%: {_times(low)} to {_times(high)})"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def _percent(ratio: float, digits: int = 0) -> str:
    percent = 100 * (ratio - 1)
    digits = 1 if abs(percent) < 3 else digits
    return f"{percent:.{digits}f}%"


def _tests(one: Answer) -> str:
    """``Significant in 7 of 9 tests. Slower in 1: file creation.``"""
    won, total = len(one.significant), len(one.tests)
    text = f"Significant in {won} of {_count(one.tests, 'test')}."
    if not won and one.status == FASTER and total > 1:
        text += " The mean of all tests decides: it scatters less than each test."
    if one.slower:
        text += f" Slower in {len(one.slower)}: {_names(one.slower)}."
    ahead = total - won - len(one.lost_to)
    if won < total and ahead > 0:
        text += f" Ahead but not significant in {ahead}."
    behind = [test for test in one.lost_to if test not in one.slower]
    if behind:
        text += f" Behind but not significant in {len(behind)}: {_names(behind)}."
    return text


def _others(one: Answer) -> list[str]:
    """Proven differences of the entries beyond the first two, from the baseline."""
    base = one.baseline
    words = []
    for standing in one.standings:
        said = (one.first, one.runner_up) if base == one.first else (one.first, base)
        if standing.entry in said or standing.ratio_high is None:
            continue
        if standing.ratio_high < 1:
            words.append(
                f"{standing.entry} is {100 * (1 - standing.ratio):.0f}% slower than {base}"
            )
        elif standing.ratio_low is not None and standing.ratio_low > 1:
            words.append(f"{standing.entry} is {faster_words(standing.ratio)} {base}")
    return [f"{'; '.join(words[:NAMED])}."] if words else []


def _count(items: Sequence[str], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def _names(tests: Sequence[str]) -> str:
    named = [testnames.in_sentence(test) for test in tests[:NAMED]]
    more = f" and {len(tests) - NAMED} more" if len(tests) > NAMED else ""
    return ", ".join(named) + more
