"""Which entry is fastest over the tests of one workload, and how sure that is. Pure.

Method and sources: docs/method.md#the-answer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite, log
from typing import NamedTuple

from fsbench_web.core.stats.verdicts import (
    EQUIVALENCE_PERCENT,
    EQUIVALENT,
    FASTER,
    INCONCLUSIVE,
    Repeats,
    Verdict,
    blocks_to_decide,
    compared_over_tests,
    outlook,
    ratio_of,
)

MIXED = "mixed"
NONE = "none"
MOST_SLOWER = 0.1
"""A leader may lose so many of the tests that differ significantly."""


class ComparedTest(NamedTuple):
    """One test of several entries; ``best`` is significantly faster than those ``beaten``."""

    test: str
    lower_is_better: bool
    entries: Mapping[str, Repeats]
    best: str = ""
    beaten: Collection[str] = ()


class Standing(NamedTuple):
    """The speed of an entry relative to another, with its 95% interval where one is known."""

    entry: str
    ratio: float
    ratio_low: float | None = None
    ratio_high: float | None = None


@dataclass(frozen=True)
class Answer:
    """Which entry is fastest over ``tests``, and how sure that is.

    ``entries``: fastest first. ``standings``: relative to ``baseline``. ``verdict``: of the first
    two; None without repeats. ``wins``: tests in which an entry is significantly the fastest: the
    first, or one that beats it. ``lost_to``: the better entry of a test. ``more_blocks`` and
    ``outlook``: what would decide the first and whom it does not surely beat. ``repeats``: fewest
    and most.
    """

    status: str
    entries: tuple[str, ...]
    baseline: str
    standings: tuple[Standing, ...]
    tests: tuple[str, ...]
    verdict: Verdict | None
    wins: Mapping[str, tuple[str, ...]]
    lost_to: Mapping[str, str]
    ratio: float
    more_blocks: int | None
    repeats: tuple[int, int]
    outlook: str | None = None

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
        return None if self.verdict is None else self.verdict.ratio_low

    @property
    def ratio_high(self) -> float | None:
        return None if self.verdict is None else self.verdict.ratio_high

    @property
    def blocks(self) -> int:
        """Blocks that the first two share; 0 where they are not paired."""
        return 0 if self.verdict is None else (self.verdict.blocks or 0)

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


def answer(
    results: Sequence[ComparedTest],
    baseline: str = "",
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Answer | None:
    """The answer over the tests that all entries share; None for fewer than two entries."""
    usable = [result for result in results if _is_usable(result)]
    names = list(dict.fromkeys(name for result in usable for name in result.entries))
    shared = [result for result in usable if len(result.entries) == len(names)]
    if len(names) < 2 or not shared:
        return None
    entries = sorted(names, key=lambda name: (-_mean_log(shared, name), name))
    first = entries[0]
    verdicts = {name: ratio_over_tests(shared, first, name, margin_percent) for name in entries[1:]}
    verdict = verdicts[entries[1]]
    wins = _wins(shared, first)
    base = baseline if baseline in entries else entries[1]
    counts = [result.entries[name].repeat_count for result in shared for name in names]
    status = _status(first, wins, verdicts, verdict, margin_percent)
    more = found = None
    limit = 1 + margin_percent / 100
    undecided = [one for one in verdicts.values() if one and (one.ratio_low or 0.0) <= limit]
    if status == INCONCLUSIVE and undecided:
        have = undecided[0].blocks or shared[0].entries[first].repeat_count
        more = blocks_to_decide(undecided[0], have=have, beyond_margin=True)
        found = outlook(undecided[0].ratio_low, undecided[0].ratio_high, more)
    return Answer(
        status=status,
        entries=tuple(entries),
        baseline=base,
        standings=tuple(_standing(shared, name, base, margin_percent) for name in entries),
        tests=tuple(result.test for result in shared),
        verdict=verdict,
        wins=wins,
        lost_to={result.test: result.best for result in shared if result.best not in ("", first)},
        ratio=_ratio(shared, first, entries[1]),
        more_blocks=more,
        outlook=found,
        repeats=(min(counts), max(counts)),
    )


def ratio_over_tests(
    results: Sequence[ComparedTest],
    ahead: str,
    behind: str,
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Verdict | None:
    """The verdict of two entries over several tests (``compared_over_tests``)."""
    return compared_over_tests(
        [result.entries[ahead] for result in results],
        [result.entries[behind] for result in results],
        [result.lower_is_better for result in results],
        margin_percent,
    )


def together(answers: Sequence[Answer]) -> str:
    """The status over several workloads: FASTER only if one entry is faster in every one."""
    statuses = {answer.status for answer in answers}
    leaders = {answer.leader for answer in answers if answer.leader is not None}
    if not answers:
        return NONE
    if len(leaders) > 1 or MIXED in statuses:
        return MIXED
    return statuses.pop() if len(statuses) == 1 else INCONCLUSIVE


def _is_usable(result: ComparedTest) -> bool:
    return all(
        isfinite(entry.score) and entry.score > 0 and entry.mean > 0
        for entry in result.entries.values()
    )


def _mean_log(results: Sequence[ComparedTest], name: str) -> float:
    """The mean over tests of the logarithm of speed."""
    logs = [
        (-1.0 if result.lower_is_better else 1.0) * log(result.entries[name].mean)
        for result in results
    ]
    return fsum(logs) / len(logs)


def _ratio(results: Sequence[ComparedTest], ahead: str, behind: str) -> float:
    """The geometric mean over tests of the ratio of speeds."""
    return ratio_of(_mean_log(results, ahead) - _mean_log(results, behind))


def _standing(
    results: Sequence[ComparedTest], name: str, base: str, margin_percent: float
) -> Standing:
    if name == base:
        return Standing(name, 1.0)
    verdict = ratio_over_tests(results, name, base, margin_percent)
    ratio = _ratio(results, name, base)
    if verdict is None:
        return Standing(name, ratio)
    return Standing(name, ratio, verdict.ratio_low, verdict.ratio_high)


def _wins(results: Sequence[ComparedTest], first: str) -> dict[str, tuple[str, ...]]:
    """By entry, the tests that it wins: of the first, or of who is faster than it."""
    wins: dict[str, list[str]] = {}
    for result in results:
        losers = set(result.entries) - {first} if result.best == first else {first}
        if result.best and losers <= set(result.beaten):
            wins.setdefault(result.best, []).append(result.test)
    return {entry: tuple(tests) for entry, tests in wins.items()}


def _status(
    first: str,
    wins: Mapping[str, Sequence[str]],
    verdicts: Mapping[str, Verdict | None],
    verdict: Verdict | None,
    margin_percent: float,
) -> str:
    """FASTER, EQUIVALENT, MIXED or INCONCLUSIVE.

    The first must be faster than every other entry at the full level (R. L. Berger, Technometrics
    24, 1982); the runner-up needs no correction (S. Gutmann and Z. Maymin, Ann. Stat. 15, 1987).
    """
    won = len(wins.get(first, ()))
    lost = sum(len(tests) for entry, tests in wins.items() if entry != first)
    is_contradicted = lost > MOST_SLOWER * (won + lost)
    if won and is_contradicted:
        return MIXED
    limit = 1 + margin_percent / 100
    if not is_contradicted and all(
        found is not None and found.ratio_low is not None and found.ratio_low > limit
        for found in verdicts.values()
    ):
        return FASTER
    if verdict is not None and verdict.is_equivalent and not is_contradicted:
        return EQUIVALENT
    return INCONCLUSIVE
