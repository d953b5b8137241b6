"""Whether the rules of verdicts keep what they promise.

    .venv/bin/python -m benchmarks.simulations.verdicts

Contenders with known speeds run in blocks, with a fixed seed. A block drifts, and each run has
noise, both in percent and normal logarithms. Percentages are of TRIALS comparisons; half a percent
is chance. Exits with 1 where a promise is not kept.
"""

import sys
from collections.abc import Callable
from math import log
from statistics import fmean

import numpy as np

from fsbench_web.core.scoring.quality_cells import outliers
from fsbench_web.core.stats.freenix import compare
from fsbench_web.core.stats.intervals import interval
from fsbench_web.core.stats.verdicts import (
    EQUAL,
    FALSE_ALARM,
    FASTER,
    SIGNIFICANT,
    TIE,
    Family,
    Repeats,
    Verdict,
    compared,
    decided,
    equivalence_factor_of,
    family,
    least_blocks,
    pairs_of,
    rounding_of,
)

SEED = 20_261_122
TRIALS = 2000

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal(draw: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return draw.normal(size=shape)


def skewed(draw: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Mostly a little faster, at times much slower: mean 0, deviation 1."""
    return 1.0 - draw.exponential(size=shape)


def speeds(
    draw: np.random.Generator,
    truth: list[float],
    blocks: int,
    *,
    drift: float,
    noise: float,
    noise_of: Draw = normal,
) -> np.ndarray:
    """Measured speeds, contenders by blocks; drift and noise are deviations in percent."""
    common = draw.normal(size=(1, blocks)) * drift / 100
    scatter = noise_of(draw, (len(truth), blocks)) * noise / 100
    measured: np.ndarray = 1000 * np.exp(np.log(truth)[:, None] + common + scatter)
    return measured


def verdict_of(
    measured: np.ndarray, *, in_blocks: bool = True, is_rounded: bool = False
) -> Verdict:
    """Of two contenders, rows of values by block."""
    ahead, behind = (
        Repeats(
            float(row.mean()),
            tuple((str(block) if in_blocks else "", float(v)) for block, v in enumerate(row)),
            rounding=rounding_of(row.tolist()) if is_rounded else 0.0,
        )
        for row in measured
    )
    verdict = compared(ahead, behind, lower_is_better=False)
    assert verdict is not None
    return verdict


def unpaired_of(measured: np.ndarray) -> Verdict:
    return verdict_of(measured, in_blocks=False)


def holds(verdict: Verdict, truth: float) -> bool:
    """Whether the interval holds the true ratio."""
    assert verdict.ratio_low is not None
    assert verdict.ratio_high is not None
    return verdict.ratio_low <= truth <= verdict.ratio_high


def is_significant_unpaired(measured: np.ndarray) -> bool:
    """By the rule of FREENIX 2002 with its margin of 10%, the better mean ahead."""
    estimates = [estimate for row in measured if (estimate := interval(row.tolist())) is not None]
    ahead, behind = sorted(estimates, key=lambda estimate: -estimate.mean)
    judged = compare(ahead, behind, margin_percent=10, lower_is_better=False)
    return judged.status == SIGNIFICANT


def share(outcomes: list[bool]) -> float:
    return 100 * sum(outcomes) / len(outcomes)


def _is_best_faster(
    measured: np.ndarray, *, in_blocks: bool = True, is_rounded: bool = False
) -> bool:
    """Whether the best of all, by its mean, is called faster than any other, as pages do it."""
    best = int(measured.mean(axis=1).argmax())
    pairs = [
        verdict_of(measured[[best, row]], in_blocks=in_blocks, is_rounded=is_rounded)
        for row in range(len(measured))
        if row != best
    ]
    shown = Family((verdict.candidate_p for verdict in pairs), pairs_of(len(measured)))
    judged = [decided(verdict, shown.q_value(verdict.p_value or 0.0)) for verdict in pairs]
    return any(verdict.direction == FASTER for verdict in judged)


def _equivalent_to_the_best(measured: np.ndarray) -> list[int]:
    """Which of all are called equivalent to the best by its mean, among so many contenders."""
    best = int(measured.mean(axis=1).argmax())
    factor = equivalence_factor_of(len(measured))
    return [
        row
        for row in range(len(measured))
        if row != best
        and (verdict_of(measured[[best, row]]).p_equivalence or 0.0) * factor <= FALSE_ALARM
    ]


def _report_many_equivalences(report: Callable[..., None]) -> None:
    """Of many contenders one is more easily called equivalent by chance than of two."""
    draw = np.random.default_rng(SEED + 5)
    print("A difference of just the margin (2%) among many: called equivalent, wrongly")
    for contenders, blocks, noise in ((3, 5, 1), (8, 5, 1), (8, 20, 2), (30, 5, 0.5)):
        wrong = []
        for _ in range(TRIALS // 2):
            # The best is just the margin ahead of all others: each of these may be told wrongly.
            measured = speeds(draw, [1.02] + [1.0] * (contenders - 1), blocks, drift=8, noise=noise)
            ahead = int(measured.mean(axis=1).argmax()) == 0
            wrong.append(bool(ahead and _equivalent_to_the_best(measured)))
        name = f"  any of {contenders} contenders to the best, {blocks} blocks, noise {noise}%"
        report(name, share(wrong), at_most=5.5)
    print("No difference: all of 8 contenders called equivalent to the best (not promised)")
    for blocks, noise in ((5, 0.5), (8, 0.5), (8, 1), (12, 1)):
        all_found = [
            len(_equivalent_to_the_best(speeds(draw, [1.0] * 8, blocks, drift=8, noise=noise))) == 7
            for _ in range(TRIALS // 4)
        ]
        report(f"  {blocks} blocks, noise {noise}%", share(all_found))


def _look_of_false_alarm(draw: np.random.Generator, noise: float) -> int | None:
    """At which of five looks, from 0, a false difference is called; None: at none. Each look
    measures as many blocks more as the verdict says, 60 at most.
    """
    measured = speeds(draw, [1, 1], 5, drift=8, noise=noise)
    for look in range(5):
        verdict = verdict_of(measured)
        if verdict.status == SIGNIFICANT:
            return look
        if verdict.more_blocks is None:
            return None
        more = speeds(draw, [1, 1], min(verdict.more_blocks, 60), drift=8, noise=noise)
        measured = np.hstack([measured, more])
    return None


def _is_different_among_sound(draw: np.random.Generator, repeats: int, noise: float) -> bool:
    """Whether two that are alike differ by the repeats of each that are no outliers."""
    measured = speeds(draw, [1, 1], repeats, drift=0, noise=noise)
    none = np.full(repeats, -1)
    sound = [
        tuple((str(block), value) for block, value in enumerate(row.tolist()) if not flagged[block])
        for row in measured
        for flagged in [outliers(none, none, row)]
    ]
    first, second = (Repeats(fmean(value for _, value in row), row) for row in sound)
    verdict = compared(first, second, lower_is_better=False)
    return verdict is not None and verdict.status == SIGNIFICANT


def _report_outliers(report: Callable[..., None]) -> None:
    """Gaussian repeats flagged by chance, and one that is 50% off found."""
    draw = np.random.default_rng(SEED + 6)
    for scatter in (1, 8, 25):
        print(f"Repeats of pure Gaussian noise, scatter {scatter}%: flagged as outliers")
        for repeats in (4, 5, 6, 8, 10, 20):
            cells = np.repeat(np.arange(2 * TRIALS), repeats)
            measured = 1000 * (1 + scatter / 100 * draw.normal(size=(2 * TRIALS, repeats)))
            flagged = outliers(cells, cells, measured.ravel()).reshape(measured.shape)
            report(f"  {repeats} repeats", 100 * flagged.mean(), at_most=1.0)
            report(f"  any of {repeats} repeats", 100 * flagged.any(axis=1).mean(), at_most=2.0)
            measured[:, 0] *= 1.5
            found = outliers(cells, cells, measured.ravel()).reshape(measured.shape)[:, 0]
            report(f"  one 50% off among {repeats}, found (not promised)", 100 * found.mean())


def _holds_until_sure(draw: np.random.Generator, noise: float) -> bool:
    """Whether the interval holds the truth at which repeats end: 3 to 10, until ± 5%."""
    values = (1000 * (1 + noise / 100 * draw.normal(size=10))).tolist()
    looks = [look for count in range(3, 11) if (look := interval(values[:count])) is not None]
    ended = next((look for look in looks if (look.relative_percent or 0) <= 5), looks[-1])
    return ended.low <= 1000 <= ended.high


def _report_digits_and_modes(report: Callable[..., None]) -> None:
    """Without any difference: numbers of few digits, and machines that have two speeds."""
    draw = np.random.default_rng(SEED + 3)
    print("No difference: called one, of 100.5 rounded to whole numbers")
    for contenders, repeats, in_blocks in (
        *((2, 2, False), (2, 3, False), (2, 5, True)),
        *((8, 2, False), (8, 3, False), (8, 3, True), (8, 5, True)),
    ):
        for scatter in (0.3, 1.0):
            alarms = [
                _is_best_faster(
                    np.rint(100.5 + scatter * draw.normal(size=(contenders, repeats))),
                    in_blocks=in_blocks,
                    is_rounded=True,
                )
                for _ in range(TRIALS // 4)
            ]
            how = "blocks" if in_blocks else "repeats, unpaired"
            name = f"  {contenders} contenders, {repeats} {how}, scatter of {scatter:g} of a digit"
            report(name, share(alarms), at_most=7.0)
    print("No difference: called one, where each run has one of two speeds, a quarter apart")
    for slow in (0.2, 0.5):
        for contenders, blocks in (
            (2, 3),
            (3, 3),
            (4, 3),
            (8, 3),
            (8, 5),
            (12, 5),
            (30, 5),
            (30, 8),
        ):
            alarms = []
            for _ in range(TRIALS // 4):
                measured = speeds(draw, [1.0] * contenders, blocks, drift=0, noise=0.5)
                measured *= np.where(draw.random(measured.shape) < slow, 0.75, 1.0)
                alarms.append(_is_best_faster(measured))
            name = f"  {contenders} contenders, {blocks} blocks, {slow:.0%} of runs slow"
            if blocks < least_blocks(contenders):
                report(f"{name} (not promised)", share(alarms))
            else:
                report(name, share(alarms), at_most=12.0)


def _report_samples(report: Callable[..., None]) -> None:
    """Samples and trials of one run each, which know nothing of how runs differ."""
    draw = np.random.default_rng(SEED + 4)
    print("No difference: told apart, by values of one run each, which scatter by 3%")
    for count, kind in ((30, "samples, which no verdict takes"), (3, "trials")):
        for between in (0, 1, 2, 5):
            apart = []
            for _ in range(TRIALS):
                runs = 1 + between / 100 * draw.normal(size=(2, 1))
                verdict = unpaired_of(1000 * runs * (1 + 0.03 * draw.normal(size=(2, count))))
                apart.append(verdict.status == SIGNIFICANT)
            name = f"  {count} {kind}; runs scatter by {between}% (not promised)"
            report(name, share(apart))


def _print_many_looks(report: Callable[..., None]) -> None:
    """What is picked, left out or measured after the numbers were seen, without any difference."""
    draw = np.random.default_rng(SEED + 2)
    for contenders in (3, 8):
        picked = [
            _is_best_faster(speeds(draw, [1.0] * contenders, 5, drift=8, noise=2))
            for _ in range(TRIALS // 4)
        ]
        name = f"  the best of {contenders} against any other, 5 blocks"
        report(name, share(picked), at_most=7.0)
    print("No difference: called one, by whoever measures more until it is decided (not promised)")
    for noise in (2, 4, 8):
        looks = [_look_of_false_alarm(draw, noise) for _ in range(TRIALS)]
        for times in (0, 1, 4):
            report(
                f"  5 blocks, noise {noise}%, and {times} times as many more as it says",
                share([look is not None and look <= times for look in looks]),
            )
    print("No difference: called one, of sound repeats alone, without outliers (not promised)")
    for repeats, noise in ((5, 5), (5, 10), (10, 10), (30, 10)):
        alarms = [_is_different_among_sound(draw, repeats, noise) for _ in range(TRIALS)]
        report(f"  {repeats} blocks, scatter {noise}%", share(alarms))
    print("Intervals of a mean hold it where 3 to 10 repeats end at ± 5% (not promised)")
    for noise in (2, 3, 5, 8):
        held = [_holds_until_sure(draw, noise) for _ in range(TRIALS)]
        report(f"  scatter {noise}%", share(held))


def _report_coverage(report: Callable[..., None]) -> None:
    """Intervals of the ratio of means, and of the mean logarithm of the ratios."""
    draw = np.random.default_rng(SEED + 7)
    print("Intervals hold the true ratio (to compare: Student's t of the logarithms of ratios)")
    for noise in (2, 5, 10, 20, 40):
        for blocks in (3, 5, 10):
            for noise_of in (normal, skewed):
                measured = [
                    speeds(draw, [1.05, 1], blocks, drift=8, noise=noise, noise_of=noise_of)
                    for _ in range(TRIALS)
                ]
                held = share([holds(verdict_of(one), 1.05) for one in measured])
                logarithms = [interval(np.log(one[0] / one[1]).tolist()) for one in measured]
                by_logs = share([one.low <= log(1.05) <= one.high for one in logarithms if one])
                report(
                    f"  {blocks} blocks, {noise_of.__name__} noise {noise}%; {by_logs:.1f}%",
                    held,
                    at_least=93.5 if noise <= 20 else 92.5,
                    at_most=98,
                )
    print("The same where one has two more runs, in no block of the other")
    for blocks in (3, 5, 10):
        outcomes = []
        for _ in range(TRIALS):
            both = speeds(draw, [1.05, 1], blocks + 2, drift=8, noise=5)
            sides = [tuple((str(block), float(v)) for block, v in enumerate(row)) for row in both]
            first, second = (
                Repeats(fmean(value for _, value in side), side)
                for side in (sides[0], sides[1][:blocks])
            )
            verdict = compared(first, second, lower_is_better=False)
            outcomes.append(verdict is not None and holds(verdict, 1.05))
        report(f"  {blocks} blocks, noise 5%", share(outcomes), at_least=93.5)


def main() -> int:
    draw, draw_apart = np.random.default_rng(SEED), np.random.default_rng(SEED + 1)
    promises_kept: list[bool] = []

    def report(name: str, percent: float, *, at_least: float = 0, at_most: float = 100) -> None:
        is_kept = at_least <= percent <= at_most
        promises_kept.append(is_kept)
        bound = f">= {at_least:g}" if at_least else f"<= {at_most:g}" if at_most < 100 else ""
        print(f"{name:78} {percent:5.1f}% {bound:8} {'' if is_kept else 'NOT KEPT'}", flush=True)

    def many(truth: list[float], blocks: int, **how: object) -> list[Verdict]:
        return [
            verdict_of(speeds(draw, truth, blocks, **how))  # type: ignore[arg-type]
            for _ in range(TRIALS)
        ]

    print("No difference: called one (false alarms)")
    for blocks, noise, noise_of in ((3, 2, normal), (8, 2, normal), (8, 8, normal), (8, 4, skewed)):
        verdicts = many([1, 1], blocks, drift=8, noise=noise, noise_of=noise_of)
        name = f"  {blocks} blocks, drift 8%, noise {noise}% ({noise_of.__name__})"
        report(name, share([verdict.status == SIGNIFICANT for verdict in verdicts]), at_most=5.5)
    for blocks, noise in ((2, 4), (5, 4), (5, 8)):
        apart = [
            unpaired_of(speeds(draw_apart, [1, 1], blocks, drift=0, noise=noise))
            for _ in range(TRIALS)
        ]
        name = f"  {blocks} repeats each, unpaired, scatter {noise}%"
        report(name, share([verdict.status == SIGNIFICANT for verdict in apart]), at_most=5.5)
    families = []
    for _ in range(TRIALS // 4):
        measured = speeds(draw, [1.0] * 5, 8, drift=8, noise=4)
        pairs = [verdict_of(measured[[0, other]]) for other in range(1, 5)]
        families.append(any(verdict.status == SIGNIFICANT for verdict in family(pairs)))
    report(
        "  any of 4 contenders against one baseline, 8 blocks",
        share(families),
        at_most=5.5,
    )

    _print_many_looks(report)
    _report_digits_and_modes(report)
    _report_samples(report)
    _report_outliers(report)

    print("A true difference: found")
    verdicts = many([1.05, 1], 8, drift=8, noise=2)
    report(
        "  5%, 8 blocks, drift 8%, noise 2%",
        share([v.direction == FASTER for v in verdicts]),
        at_least=90,
    )
    verdicts = many([1.10, 1], 5, drift=8, noise=2)
    report(
        "  10%, 5 blocks, drift 8%, noise 2%",
        share([v.direction == FASTER for v in verdicts]),
        at_least=90,
    )
    unpaired = [
        is_significant_unpaired(speeds(draw, [1.12, 1], 5, drift=8, noise=2)) for _ in range(TRIALS)
    ]
    report(
        "  12%, the same, by the unpaired rule of FREENIX 2002 (its margin is 10%)", share(unpaired)
    )
    apart = [unpaired_of(speeds(draw_apart, [1.12, 1], 5, drift=8, noise=2)) for _ in range(TRIALS)]
    report(
        "  12%, the same, unpaired ratio",
        share([verdict.direction == FASTER for verdict in apart]),
    )
    verdicts = many([1.12, 1], 5, drift=8, noise=2)
    report("  12%, the same, paired", share([v.direction == FASTER for v in verdicts]), at_least=90)

    print("A difference of just the margin (2%): called equivalent, wrongly")
    for blocks, noise in ((8, 1), (8, 2), (20, 2), (20, 4)):
        verdicts = many([1.02, 1], blocks, drift=8, noise=noise)
        name = f"  {blocks} blocks, drift 8%, noise {noise}%"
        report(
            name,
            share([verdict.status == EQUAL for verdict in verdicts]),
            at_most=5.5,
        )
    verdicts = many([1, 1], 12, drift=8, noise=1)
    name = "No difference: called equivalent, 12 blocks, noise 1%"
    report(name, share([verdict.status == EQUAL for verdict in verdicts]), at_least=90)

    _report_many_equivalences(report)

    print("Intervals hold the true ratio")
    held = [holds(verdict, 1.05) for verdict in many([1.05, 1], 8, drift=8, noise=4)]
    report("  8 blocks", share(held), at_least=94, at_most=96)
    verdicts = many([1.05, 1], 8, drift=8, noise=4, noise_of=skewed)
    held = [holds(verdict, 1.05) for verdict in verdicts]
    report("  8 blocks, skewed noise", share(held), at_least=93)
    _report_coverage(report)

    print("As many blocks more as an inconclusive verdict asks for: it is decided")
    for difference, noise in ((3, 4), (6, 6)):
        decided: list[bool] = []
        while len(decided) < TRIALS // 4:
            truth = [1 + difference / 100, 1]
            first = speeds(draw, truth, 6, drift=8, noise=noise)
            verdict = verdict_of(first)
            # What it asks for is of what it saw: judged where that is near the truth.
            near = abs(log(verdict.ratio or 1.0) - log(truth[0])) < 0.005
            if verdict.status != TIE or verdict.more_blocks is None or not near:
                continue
            more = speeds(draw, truth, verdict.more_blocks, drift=8, noise=noise)
            decided.append(verdict_of(np.hstack([first, more])).status != TIE)
        report(
            f"  {difference}% apart, noise {noise}%, asked after 6 blocks",
            share(decided),
            at_least=70,
        )
    return 0 if all(promises_kept) else 1


if __name__ == "__main__":
    sys.exit(main())
