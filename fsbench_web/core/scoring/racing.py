"""The best of many within a number of runs: who is measured in the next block, who is out. Pure.

Sequential halving (Z. Karnin, T. Koren and O. Somekh, "Almost Optimal Exploration in Multi-Armed
Bandits", ICML 2013): the runs that there are go to rounds of equal size; each round measures blocks
of all that are left, and the slower half of them is out at its end. Blocks of earlier rounds count
on, because all that are left share them. A contender that is behind the leader by more than the
margin for sure is out at once. The two that are left are then measured in fresh blocks: the best of
many is in part the luckiest, so what chose the finalists does not count in what is said of them.

What may stop at every look holds at every look: the intervals are the confidence sequences of the
t-statistic with a normal prior on the effect and the right Haar prior on the scatter, whose Bayes
factor is an e-value under optional stopping (A. Hendriksen, R. de Heide and P. Grünwald,
"Optional Stopping with Bayes Factors", Bayesian Analysis 16, 2021; Gönen et al., The American
Statistician 59, 2005, for its closed form). ``benchmarks/racing.py`` shows both by simulation.

Everything follows from the blocks alone: whoever was killed asks again and is told the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, fsum, inf, log, log2, sqrt

import numpy as np

from fsbench_web.core.scoring.paired import EQUIVALENCE_PERCENT, EQUIVALENT, FASTER, INCONCLUSIVE
from fsbench_web.core.scoring.significance import FALSE_ALARM

HALVING, CONFIRMING, ENDED = "halving", "confirming", "ended"
BEHIND, SLOWER_HALF = "behind", "slower_half"
FINALISTS = 2
CONFIRMING_SHARE = 0.25
"""Of all runs, for the blocks of the finalists at least; what halving does not use comes to it."""
LEAST_LOOK = 3
EFFECT_VARIANCE = 1.0
"""Of the prior on the difference, in squared deviations of the log-ratio between blocks."""
DRAWS, SEED = 4000, 2005


@dataclass(frozen=True)
class Out:
    """Why a contender is not measured any more: ``behind`` the leader by more than the margin at
    every look that counts, or of the ``slower_half`` of a round; after ``blocks`` blocks.
    """

    why: str
    blocks: int
    ratio: float
    """Its speed in that of the leader of that moment."""


@dataclass(frozen=True)
class Race:
    """Where a race stands. ``measure`` is the next block, empty when it has ``ended``.

    ``leader`` is the fastest by all blocks, ``probability`` that it is the best of those left.
    ``status`` is, once it ended, that of the two finalists: *faster*,
    *equivalent* or *inconclusive*; ``ratio`` of the leader to the other is between ``low`` and
    ``high`` whenever one looks (95%), from the fresh blocks alone. ``saved`` runs were not needed.
    """

    phase: str
    measure: tuple[str, ...]
    out: Mapping[str, Out]
    leader: str
    probability: float
    status: str = INCONCLUSIVE
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    saved: int = 0


def race(
    contenders: Sequence[str],
    blocks: Sequence[Mapping[str, float]],
    runs: int,
    *,
    margin_percent: float = EQUIVALENCE_PERCENT,
) -> Race:
    """Where the race of ``contenders`` stands after ``blocks``, with ``runs`` runs in all.

    Each block has the speed (more is better, above 0) of everybody who was to be measured in it, as
    this function said. Raises ValueError for fewer than two contenders, or runs too few for a block
    of all and three of the finalists, or a block that is none of this race.
    """
    least = len(contenders) + LEAST_LOOK * FINALISTS
    if len(set(contenders)) < 2 or len(set(contenders)) != len(contenders) or runs < least:
        raise ValueError(f"a race is of two contenders or more, with {least} runs at least")
    left, done, used = list(contenders), 0, 0
    out: dict[str, Out] = {}
    margin = log(1 + margin_percent / 100)
    logs = [{name: log(speed) for name, speed in block.items()} for block in blocks]
    rounds = ceil(log2(len(contenders) / FINALISTS))
    for_halving = int(runs * (1 - CONFIRMING_SHARE))
    for remaining in range(rounds, 0, -1):
        if len(left) <= FINALISTS:
            break
        # What earlier rounds could not use is this round's as well.
        end = done + max(1, round((for_halving - used) / remaining / len(left)))
        while done < end:
            if done == len(logs):
                return _standing(HALVING, left, out, logs[:done])
            _check(logs[done], left)
            used += len(left)
            done += 1
            _drop_behind(left, out, logs[:done], margin, len(contenders))
            if len(left) <= FINALISTS:
                break
        _drop_half(left, out, logs[:done])
    return _confirmed(left, out, logs, done, runs - used, margin)


def interval(logarithms: Sequence[float], level: float = FALSE_ALARM) -> tuple[float, float]:
    """Where the mean is, at every look together, but for a share ``level`` of all series; of
    log-ratios, one a block. Infinite where nothing can be said yet.
    """
    count = len(logarithms)
    centre = fsum(logarithms) / count if count else 0.0
    if count < LEAST_LOOK:
        return -inf, inf
    error = sqrt(fsum((one - centre) ** 2 for one in logarithms) / (count - 1) / count)
    weight = 1 + count * EFFECT_VARIANCE
    bound = (sqrt(weight) / level) ** (2 / count)
    if bound >= weight:
        return -inf, inf
    reach = sqrt((bound - 1) / (1 - bound / weight) * (count - 1)) * error
    return centre - reach, centre + reach


def _check(block: Mapping[str, float], left: Sequence[str]) -> None:
    if set(block) != set(left):
        raise ValueError("a block is not of those that were left")


def _drop_behind(
    left: list[str],
    out: dict[str, Out],
    logs: Sequence[Mapping[str, float]],
    margin: float,
    count: int,
) -> None:
    """Who is behind the leader by more than the margin. With as many pairs as the best has others,
    the best is dropped in at most 5 of 100 races.
    """
    leader = _leader(left, logs)
    for name in [name for name in left if name != leader]:
        low, _ = interval(
            [block[leader] - block[name] for block in logs], FALSE_ALARM / (count - 1)
        )
        if low > margin and len(left) > FINALISTS:
            out[name] = Out(BEHIND, len(logs), exp(_mean(name, logs) - _mean(leader, logs)))
            left.remove(name)


def _drop_half(left: list[str], out: dict[str, Out], logs: Sequence[Mapping[str, float]]) -> None:
    by_speed = sorted(left, key=lambda name: -_mean(name, logs))
    best = _mean(by_speed[0], logs)
    for name in by_speed[max(FINALISTS, ceil(len(left) / 2)) :]:
        out[name] = Out(SLOWER_HALF, len(logs), exp(_mean(name, logs) - best))
        left.remove(name)


def _confirmed(
    left: Sequence[str],
    out: Mapping[str, Out],
    logs: Sequence[Mapping[str, float]],
    done: int,
    runs: int,
    margin: float,
) -> Race:
    """The finalists in fresh blocks, from ``done`` on, with so many runs."""
    fresh = logs[done:]
    for block in fresh:
        _check(block, left)
    most = runs // len(left)
    if not fresh:
        return _standing(CONFIRMING, left, out, logs)
    for count in range(1, len(fresh) + 1):
        leader = _leader(left, fresh[:count])
        other = next(name for name in left if name != leader)
        ratios = [block[leader] - block[other] for block in fresh[:count]]
        low, high = interval(ratios)
        if low > 0:
            status = EQUIVALENT if high < margin else FASTER
        else:
            status = EQUIVALENT if -margin < low and high < margin else INCONCLUSIVE
        if status != INCONCLUSIVE or count >= most:
            standing = _standing(ENDED, left, out, logs)
            ratio = fsum(ratios) / count
            if status != FASTER and standing.leader != leader:
                # All blocks together say which of two that are alike to take.
                leader, ratio, low, high = standing.leader, -ratio, -high, -low
            return Race(
                ENDED,
                (),
                out,
                leader,
                _probability(left, logs, leader),
                status,
                exp(ratio),
                exp(low),
                exp(high),
                runs - count * len(left),
            )
    return _standing(CONFIRMING, left, out, logs)


def _standing(
    phase: str,
    left: Sequence[str],
    out: Mapping[str, Out],
    logs: Sequence[Mapping[str, float]],
) -> Race:
    leader = _leader(left, logs) if logs else left[0]
    return Race(phase, tuple(left), dict(out), leader, _probability(left, logs, leader))


def _leader(left: Sequence[str], logs: Sequence[Mapping[str, float]]) -> str:
    return max(left, key=lambda name: _mean(name, logs))


def _mean(name: str, logs: Sequence[Mapping[str, float]]) -> float:
    return fsum(block[name] for block in logs) / len(logs)


def _probability(left: Sequence[str], logs: Sequence[Mapping[str, float]], leader: str) -> float:
    """That the leader is the best of those left: drawn from what the means may be, with the scatter
    that all have in common within blocks. Without a scatter known yet all are as likely.
    """
    if len(logs) < 2 or len(left) < 2:
        return 1 / len(left)
    values = np.array([[block[name] for name in left] for block in logs])
    apart = values - values.mean(axis=1, keepdims=True)
    freedom = (len(logs) - 1) * (len(left) - 1)
    means = apart.mean(axis=0)
    deviation = sqrt(float(((apart - means) ** 2).sum()) / freedom)
    draw = np.random.default_rng(SEED)
    shape = (DRAWS, len(left))
    scale = deviation / sqrt(len(logs)) * np.sqrt(freedom / draw.chisquare(freedom, (DRAWS, 1)))
    best = (means + draw.normal(size=shape) * scale).argmax(axis=1)
    return float((best == left.index(leader)).mean())
