"""Which entry is fastest over the tests of one workload, and whether the evidence says so. Pure.

Method and sources: docs/method.md#the-answer. Its promises are held by
benchmarks/simulations/answers.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, hypot, isfinite, log, sqrt
from typing import NamedTuple

from fsbench_web.core.distributions import stdtr, stdtrit
from fsbench_web.core.stats.intervals import LEVEL, Interval
from fsbench_web.core.stats.significance import FALSE_ALARM
from fsbench_web.core.stats.verdicts import (
    EQUIVALENCE_PERCENT,
    EQUIVALENT,
    FASTER,
    INCONCLUSIVE,
    LEAST_BLOCKS,
    MOST_ADVISED,
    POWER,
    RatioVerdict,
    of_estimate,
    of_logarithms,
    ratio_of,
)

MIXED = "mixed"
NONE = "none"
MOST_SLOWER = 0.1
"""A leader may lose so many of the tests that differ significantly."""


class Repeats(NamedTuple):
    """What one entry measured in one test: ``score`` and its repeats, (block, value).

    A block is "" where the run belongs to none; blocks are comparable within one ``study``.
    ``rounding``: the deviation that the tool's rounding makes, as a share of the score
    (``paired.rounding_of``). ``interval``: of the repeats, where they themselves were not kept.
    """

    score: float
    repeats: tuple[tuple[str, float | None], ...] = ()
    study: str = ""
    rounding: float = 0.0
    interval: Interval | None = None

    @property
    def values(self) -> list[float]:
        return [value for _, value in self.repeats if value is not None]

    @property
    def repeat_count(self) -> int:
        """How many repeats there are, 1 where nothing is known of any."""
        kept = len(self.values)
        return self.interval.count if kept < 2 and self.interval else max(kept, 1)

    @property
    def by_block(self) -> dict[str, float]:
        """The mean of its repeats in each block; blocks without a name are left out."""
        values: dict[str, list[float]] = {}
        for block, value in self.repeats:
            if block and value is not None:
                values.setdefault(block, []).append(value)
        return {block: fsum(found) / len(found) for block, found in values.items()}


class ComparedTest(NamedTuple):
    """One test of several entries. ``best`` is ahead in it.

    ``p_values``: of the best, that it is not faster than every other entry; of another, that the
    best is not faster than it. 1 or absent where the verdict is not "significant".
    """

    test: str
    lower_is_better: bool
    entries: Mapping[str, Repeats]
    best: str = ""
    p_values: Mapping[str, float] = {}


class Standing(NamedTuple):
    """The speed of an entry relative to another, with its 95% interval where one is known."""

    entry: str
    ratio: float
    ratio_low: float | None = None
    ratio_high: float | None = None


@dataclass(frozen=True)
class Answer:
    """Who is fastest over ``tests``, and how sure that is.

    ``entries``: fastest first. ``standings``: each relative to ``baseline``. ``verdict``: of the
    first against the second; None without repeats. ``wins``: tests in which an entry is
    significantly the fastest (false discovery rate 5%), by entry; only of the first, and of those
    that beat it. ``lost_to``: tests in which another entry has the better score. ``repeats``: the
    fewest and the most of any score.
    """

    status: str
    entries: tuple[str, ...]
    baseline: str
    standings: tuple[Standing, ...]
    tests: tuple[str, ...]
    verdict: RatioVerdict | None
    wins: Mapping[str, tuple[str, ...]]
    lost_to: Mapping[str, str]
    ratio: float
    more_blocks: int | None
    repeats: tuple[int, int]

    @property
    def first(self) -> str:
        """The entry with the highest mean speed, whether or not that is proven."""
        return self.entries[0]

    @property
    def leader(self) -> str | None:
        """The fastest entry, only where the interval proves it."""
        return self.first if self.status == FASTER else None

    @property
    def runner_up(self) -> str:
        return self.entries[1]

    @property
    def ratio_low(self) -> float | None:
        return None if self.verdict is None else self.verdict.low

    @property
    def ratio_high(self) -> float | None:
        return None if self.verdict is None else self.verdict.high

    @property
    def blocks(self) -> int:
        """Blocks that the first two share; 0 where they are not paired."""
        return 0 if self.verdict is None else self.verdict.blocks

    @property
    def significant(self) -> tuple[str, ...]:
        """Tests in which the first is significantly the fastest."""
        return self.wins.get(self.first, ())

    @property
    def slower(self) -> tuple[str, ...]:
        """Tests in which another entry is significantly faster than the first."""
        return tuple(
            test for entry, tests in self.wins.items() if entry != self.first for test in tests
        )

    @property
    def is_effectively_tied(self) -> bool:
        """Whether no reasonable number of further repeats would decide it."""
        return self.status == INCONCLUSIVE and self.verdict is not None and not self.more_blocks


def answer(
    results: Sequence[ComparedTest],
    baseline: str = "",
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Answer | None:
    """The answer over the tests that all entries share; None for fewer than two entries or tests.

    Scores that are not above zero have no ratio: their tests are left out.
    """
    usable = [result for result in results if _is_usable(result)]
    names = list(dict.fromkeys(name for result in usable for name in result.entries))
    shared = [result for result in usable if len(result.entries) == len(names)]
    if len(names) < 2 or not shared:
        return None
    entries = _fastest_first(shared, names)
    first = entries[0]
    verdicts = {name: ratio_over_tests(shared, first, name, margin_percent) for name in entries[1:]}
    verdict = verdicts[entries[1]]
    if verdict is not None and verdict.ratio < 1:  # they share fewer blocks than they have
        entries[:2] = entries[1::-1]
        first = entries[0]
        verdicts = {
            name: ratio_over_tests(shared, first, name, margin_percent) for name in entries[1:]
        }
        verdict = verdicts[entries[1]]
    wins = _wins(shared, first)
    base = baseline if baseline in entries else entries[1]
    counts = [result.entries[name].repeat_count for result in shared for name in names]
    status = _status(first, wins, verdicts, verdict, margin_percent)
    more = None
    if status == INCONCLUSIVE and verdict is not None:
        more = _more_blocks(verdict, shared[0].entries[first].repeat_count)
    return Answer(
        status=status,
        entries=tuple(entries),
        baseline=base,
        standings=tuple(_standing(shared, name, base, margin_percent) for name in entries),
        tests=tuple(result.test for result in shared),
        verdict=verdict,
        wins=wins,
        lost_to={result.test: result.best for result in shared if result.best not in ("", first)},
        ratio=_ratio(shared, first, entries[1]) if verdict is None else verdict.ratio,
        more_blocks=more,
        repeats=(min(counts), max(counts)),
    )


def ratio_over_tests(
    results: Sequence[ComparedTest],
    ahead: str,
    behind: str,
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> RatioVerdict | None:
    """The geometric mean over tests of the speed ratio of two entries, with its 95% interval.

    Paired in the blocks that both have in every test, three at least. Otherwise Welch's interval,
    by the delta method. None without repeats. Tests of one run depend on each other, so the
    interval comes from blocks or repeats and never from the number of tests.
    """
    ours = [result.entries[ahead] for result in results]
    theirs = [result.entries[behind] for result in results]
    signs = [-1.0 if result.lower_is_better else 1.0 for result in results]
    if {side.study for side in ours} == {side.study for side in theirs} and len(
        {side.study for side in ours}
    ) == 1:
        blocks = _log_speeds_by_block(ours, signs)
        other_blocks = _log_speeds_by_block(theirs, signs)
        common = sorted(blocks.keys() & other_blocks.keys())
        if len(common) >= LEAST_BLOCKS:
            logarithms = [blocks[block] - other_blocks[block] for block in common]
            return of_logarithms(
                logarithms, margin_percent, hypot(_rounding(ours), _rounding(theirs))
            )
    errors = [_squared_error(side, signs) for side in (ours, theirs)]
    if errors[0] is None or errors[1] is None:
        return None
    (error, count), (other_error, other_count) = errors[0], errors[1]
    total = error + other_error
    share = error / total if total else 0.5
    freedom = 1 / (share * share / (count - 1) + (1 - share) ** 2 / (other_count - 1))
    centre = _mean_log(ours, signs, is_of_repeats=True) - _mean_log(
        theirs, signs, is_of_repeats=True
    )
    return of_estimate(
        *(centre, sqrt(total), freedom, margin_percent),
        sqrt(error * count + other_error * other_count),
        is_still=total == 0,
    )


def discoveries(p_values: Sequence[float], rate: float = FALSE_ALARM) -> list[bool]:
    """Which of the hypotheses are rejected with a false discovery rate of at most ``rate``.

    Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995); it holds for positively dependent
    tests too (Y. Benjamini and D. Yekutieli, Ann. Stat. 29, 2001).
    """
    ordered = sorted(p_values)
    limit = max(
        (p for rank, p in enumerate(ordered, 1) if p <= rate * rank / len(ordered)), default=-1.0
    )
    return [p <= limit for p in p_values]


def together(answers: Sequence[Answer]) -> str:
    """The status over several workloads, which are never averaged: FASTER only if one entry is
    faster in every one of them.
    """
    statuses = {answer.status for answer in answers}
    leaders = {answer.leader for answer in answers if answer.leader is not None}
    if not answers:
        return NONE
    if len(leaders) > 1 or MIXED in statuses:
        return MIXED
    return statuses.pop() if len(statuses) == 1 else INCONCLUSIVE


def _is_usable(result: ComparedTest) -> bool:
    return all(isfinite(entry.score) and entry.score > 0 for entry in result.entries.values())


def _fastest_first(results: Sequence[ComparedTest], names: Iterable[str]) -> list[str]:
    """By the blocks that all entries have in every test; where these are too few, by scores."""
    signs = [-1.0 if result.lower_is_better else 1.0 for result in results]
    columns = {name: [result.entries[name] for result in results] for name in names}
    by_block = {name: _log_speeds_by_block(column, signs) for name, column in columns.items()}
    common = set.intersection(*(set(blocks) for blocks in by_block.values()))
    studies = {repeats.study for column in columns.values() for repeats in column}
    if len(common) >= LEAST_BLOCKS and len(studies) == 1:
        speeds = {
            name: fsum(blocks[block] for block in common) for name, blocks in by_block.items()
        }
    else:
        speeds = {name: _mean_log(column, signs) for name, column in columns.items()}
    return sorted(speeds, key=lambda name: (-speeds[name], name))


def _log_speeds_by_block(column: Sequence[Repeats], signs: Sequence[float]) -> dict[str, float]:
    """The mean over tests of the logarithm of speed, by block that every test has."""
    by_test = [repeats.by_block for repeats in column]
    common = set.intersection(*(set(values) for values in by_test))
    return {
        block: fsum(s * log(values[block]) for s, values in zip(signs, by_test, strict=True))
        / len(column)
        for block in common
        if all(values[block] > 0 for values in by_test)
    }


def _mean_log(
    column: Sequence[Repeats], signs: Sequence[float], *, is_of_repeats: bool = False
) -> float:
    """The mean over tests of the logarithm of speed: of scores, or of the means of repeats."""
    values = [
        fsum(found) / len(found) if is_of_repeats and (found := repeats.values) else repeats.score
        for repeats in column
    ]
    return fsum(s * log(value) for s, value in zip(signs, values, strict=True)) / len(values)


def _rounding(column: Sequence[Repeats]) -> float:
    """The deviation that rounding makes of the mean over tests."""
    return hypot(*(repeats.rounding for repeats in column)) / len(column)


def _squared_error(column: Sequence[Repeats], signs: Sequence[float]) -> tuple[float, int] | None:
    """The squared standard error of the mean logarithm over tests, and of how many repeats.

    Repeats that have every test are runs: they carry the dependence of the tests. Where tests have
    different repeats, the errors of all tests are added up, as if they depended on each other
    wholly: never too small.
    """
    values = [repeats.values for repeats in column]
    if any(len(found) < 2 for found in values):
        return _squared_error_of_intervals([repeats.interval for repeats in column])
    if any(fsum(found) <= 0 for found in values):
        return None
    relative = [
        [sign * value * len(found) / fsum(found) for value in found]
        for sign, found in zip(signs, values, strict=True)
    ]
    layouts = {tuple(block for block, value in repeats.repeats) for repeats in column}
    is_whole = all(value is not None for repeats in column for _, value in repeats.repeats)
    if len(layouts) == 1 and is_whole:
        relative = [[fsum(row) / len(row) for row in zip(*relative, strict=True)]]
    error = fsum(sqrt(_variance(found) / len(found)) for found in relative) / len(relative)
    count = min(map(len, relative))
    error = max(error, _rounding(column) / sqrt(count))
    return error * error, count


def _squared_error_of_intervals(intervals: Sequence[Interval | None]) -> tuple[float, int] | None:
    """The same of 95% intervals whose repeats were not kept, as if tests depended wholly."""
    known = [one for one in intervals if one is not None and one.mean > 0 and one.count > 1]
    if len(known) < len(intervals):
        return None
    errors = [
        one.half_width / float(stdtrit(one.count - 1, 0.5 + LEVEL / 2)) / one.mean for one in known
    ]
    error = fsum(errors) / len(errors)
    return error * error, min(one.count for one in known)


def _variance(values: Sequence[float]) -> float:
    centre = fsum(values) / len(values)
    return fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def _ratio(results: Sequence[ComparedTest], ahead: str, behind: str) -> float:
    """The geometric mean over tests of the ratio of scores."""
    signs = [-1.0 if result.lower_is_better else 1.0 for result in results]
    ours, theirs = ([result.entries[name] for result in results] for name in (ahead, behind))
    return ratio_of(_mean_log(ours, signs) - _mean_log(theirs, signs))


def _standing(
    results: Sequence[ComparedTest], name: str, base: str, margin_percent: float
) -> Standing:
    if name == base:
        return Standing(name, 1.0)
    verdict = ratio_over_tests(results, name, base, margin_percent)
    if verdict is None:
        return Standing(name, _ratio(results, name, base))
    return Standing(name, verdict.ratio, verdict.low, verdict.high)


def _wins(results: Sequence[ComparedTest], first: str) -> dict[str, tuple[str, ...]]:
    """By entry, the tests that it wins: of the first, or of who is faster than it."""
    p_values = [result.p_values.get(first, 1.0) for result in results]
    wins: dict[str, list[str]] = {}
    for result, is_found in zip(results, discoveries(p_values), strict=True):
        if is_found and result.best:
            wins.setdefault(result.best, []).append(result.test)
    return {entry: tuple(tests) for entry, tests in wins.items()}


def _status(
    first: str,
    wins: Mapping[str, Sequence[str]],
    verdicts: Mapping[str, RatioVerdict | None],
    verdict: RatioVerdict | None,
    margin_percent: float,
) -> str:
    """FASTER, EQUIVALENT, MIXED or INCONCLUSIVE.

    The first is compared with every other entry at the full level: it must be faster than all of
    them (R. L. Berger, Technometrics 24, 1982), and the runner-up, chosen by the same data, needs
    no correction (S. Gutmann and Z. Maymin, Ann. Stat. 15, 1987).
    """
    won = len(wins.get(first, ()))
    lost = sum(len(tests) for entry, tests in wins.items() if entry != first)
    is_contradicted = lost > MOST_SLOWER * (won + lost)
    if won and is_contradicted:
        return MIXED
    limit = 1 + margin_percent / 100
    if not is_contradicted and all(
        found is not None and found.low > limit for found in verdicts.values()
    ):
        return FASTER
    if verdict is not None and verdict.p_equivalence <= FALSE_ALARM and not is_contradicted:
        return EQUIVALENT
    return INCONCLUSIVE


def _more_blocks(verdict: RatioVerdict, repeats: int) -> int | None:
    """How many further blocks decide it with a power of 0.8, MOST_ADVISED at most; else None.

    Either the interval leaves the margin, or the two are equivalent within it; ratio and scatter
    are taken for true.
    """
    difference, margin = abs(log(verdict.ratio)), log(1 + verdict.margin_percent / 100)
    have = verdict.blocks or repeats
    for count in range(max(have + 1, LEAST_BLOCKS), have + MOST_ADVISED + 1):
        error, freedom = verdict.deviation / sqrt(count), count - 1
        if error == 0:
            return count - have
        beyond = stdtr(
            freedom, (difference - margin) / error - stdtrit(freedom, 1 - FALSE_ALARM / 2)
        )
        needed = stdtrit(freedom, 1 - FALSE_ALARM)
        inside = stdtr(freedom, (margin - difference) / error - needed)
        outside = stdtr(freedom, (margin + difference) / error - needed)
        if beyond >= POWER or inside + outside - 1 >= POWER:
            return count - have
    return None
