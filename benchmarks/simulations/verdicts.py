"""Whether the rules of verdicts keep what they promise.

    .venv/bin/python -m benchmarks.simulations.verdicts

Simulated with a fixed seed: contenders whose true speeds are known are run in blocks; each block
is faster or slower for all alike (drift), and each run by itself (noise), both in percent of the
speed, normally distributed logarithms unless said otherwise. Exits with 1 where a promise is not
kept. Percentages are of ``TRIALS`` comparisons; half a percent of them is chance.
"""

import sys
from collections.abc import Callable
from math import log

import numpy as np

from fsbench_web.core.scoring.quality_repeats import outliers
from fsbench_web.core.stats import significance
from fsbench_web.core.stats.intervals import interval
from fsbench_web.core.stats.verdicts import (
    EQUIVALENT,
    FASTER,
    INCONCLUSIVE,
    SLOWER,
    RatioVerdict,
    corrected,
    equivalence_factor_of,
    family,
    least_blocks,
    paired,
    rounding_of,
    unpaired,
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


def verdict_of(measured: np.ndarray) -> RatioVerdict:
    a, b = ({str(block): float(value) for block, value in enumerate(row)} for row in measured)
    verdict = paired(a, b, lower_is_better=False)
    assert verdict is not None
    return verdict


def unpaired_of(measured: np.ndarray) -> RatioVerdict:
    ahead, behind = (interval(row.tolist()) for row in measured)
    assert ahead is not None
    assert behind is not None
    verdict = unpaired(ahead, behind, lower_is_better=False)
    assert verdict is not None
    return verdict


def is_significant_unpaired(measured: np.ndarray) -> bool:
    """By the rule of FREENIX 2002 with its margin of 10%, the better mean ahead."""
    estimates = [estimate for row in measured if (estimate := interval(row.tolist())) is not None]
    ahead, behind = sorted(estimates, key=lambda estimate: -estimate.mean)
    judged = significance.compare(ahead, behind, margin_percent=10, lower_is_better=False)
    return judged.status == significance.SIGNIFICANT


def share(outcomes: list[bool]) -> float:
    return 100 * sum(outcomes) / len(outcomes)


def _is_best_faster(measured: np.ndarray) -> bool:
    """Whether the best of all, by its mean, is called faster than any other."""
    best = int(measured.mean(axis=1).argmax())
    pairs = [verdict_of(measured[[best, row]]) for row in range(len(measured)) if row != best]
    p_values = significance.holm(
        [verdict.p_value for verdict in pairs], significance.pairs_of(len(measured))
    )
    return any(
        corrected(verdict, p_holm, len(pairs)).status == FASTER
        for verdict, p_holm in zip(pairs, p_values, strict=True)
    )


def _equivalent_to_the_best(measured: np.ndarray) -> list[int]:
    """Which of all are called equivalent to the best by its mean, among so many contenders."""
    best = int(measured.mean(axis=1).argmax())
    factor = equivalence_factor_of(len(measured))
    return [
        row
        for row in range(len(measured))
        if row != best
        and verdict_of(measured[[best, row]])._replace(equivalence_factor=factor).status
        == EQUIVALENT
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
    """At which look, from 0, a difference is called where there is none; None: at none of five.

    After each that does not decide as many blocks more are measured as it says, 60 at most.
    """
    measured = speeds(draw, [1, 1], 5, drift=8, noise=noise)
    for look in range(5):
        verdict = verdict_of(measured)
        if verdict.status in (FASTER, SLOWER):
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
        {str(block): value for block, value in enumerate(row.tolist()) if not flagged[block]}
        for row in measured
        for flagged in [outliers(none, none, row)]
    ]
    verdict = paired(*sound, lower_is_better=False)
    return verdict is not None and verdict.status in (FASTER, SLOWER)


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


def _is_best_of_rounded_faster(measured: np.ndarray, *, in_blocks: bool) -> bool:
    """The same of whole numbers, as pages judge them."""
    best = int(measured.mean(axis=1).argmax())
    pairs = []
    for row in range(len(measured)):
        if row == best:
            continue
        two = [measured[best], measured[row]]
        rounding = (rounding_of(two[0].tolist()), rounding_of(two[1].tolist()))
        if in_blocks:
            blocks = [{str(block): float(v) for block, v in enumerate(values)} for values in two]
            verdict = paired(*blocks, lower_is_better=False, rounding=rounding)
        else:
            means = [
                estimate for values in two if (estimate := interval(values.tolist())) is not None
            ]
            verdict = unpaired(*means, lower_is_better=False, rounding=rounding)
        assert verdict is not None
        pairs.append(verdict)
    p_values = significance.holm(
        [verdict.p_value for verdict in pairs], significance.pairs_of(len(measured))
    )
    return any(
        corrected(verdict, p_holm, len(pairs)).status == FASTER
        for verdict, p_holm in zip(pairs, p_values, strict=True)
    )


def _report_digits_and_modes(report: Callable[..., None]) -> None:
    """Without any difference: numbers of few digits, and machines that have two speeds."""
    draw = np.random.default_rng(SEED + 3)
    print("No difference: called one, of 100.5 rounded to whole numbers, Holm over all pairs")
    for contenders, repeats, in_blocks in (
        *((2, 2, False), (2, 3, False), (2, 5, True)),
        *((8, 2, False), (8, 3, False), (8, 3, True), (8, 5, True)),
    ):
        for scatter in (0.3, 1.0):
            alarms = [
                _is_best_of_rounded_faster(
                    np.rint(100.5 + scatter * draw.normal(size=(contenders, repeats))),
                    in_blocks=in_blocks,
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
    """A run of each, whose samples and trials know nothing of what differs from run to run.

    By samples nobody is called faster for that reason; by trials, which are fewer, one is.
    """
    draw = np.random.default_rng(SEED + 4)
    print("No difference: told apart, by values of one run each, which scatter by 3%")
    for count, kind in ((30, "samples, which no verdict takes"), (3, "trials")):
        for between in (0, 1, 2, 5):
            apart = []
            for _ in range(TRIALS):
                runs = 1 + between / 100 * draw.normal(size=(2, 1))
                verdict = unpaired_of(1000 * runs * (1 + 0.03 * draw.normal(size=(2, count))))
                apart.append(verdict.status in (FASTER, SLOWER))
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
        name = f"  the best of {contenders} against any other, 5 blocks, Holm over all pairs"
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


def main() -> int:
    draw, draw_apart = np.random.default_rng(SEED), np.random.default_rng(SEED + 1)
    promises_kept: list[bool] = []

    def report(name: str, percent: float, *, at_least: float = 0, at_most: float = 100) -> None:
        is_kept = at_least <= percent <= at_most
        promises_kept.append(is_kept)
        bound = f">= {at_least:g}" if at_least else f"<= {at_most:g}" if at_most < 100 else ""
        print(f"{name:78} {percent:5.1f}% {bound:8} {'' if is_kept else 'NOT KEPT'}", flush=True)

    def many(truth: list[float], blocks: int, **how: object) -> list[RatioVerdict]:
        return [
            verdict_of(speeds(draw, truth, blocks, **how))  # type: ignore[arg-type]
            for _ in range(TRIALS)
        ]

    different = (FASTER, SLOWER)
    print("No difference: called one (false alarms)")
    for blocks, noise, noise_of in ((3, 2, normal), (8, 2, normal), (8, 8, normal), (8, 4, skewed)):
        verdicts = many([1, 1], blocks, drift=8, noise=noise, noise_of=noise_of)
        name = f"  {blocks} blocks, drift 8%, noise {noise}% ({noise_of.__name__})"
        report(name, share([verdict.status in different for verdict in verdicts]), at_most=5.5)
    for blocks, noise in ((2, 4), (5, 4), (5, 8)):
        apart = [
            unpaired_of(speeds(draw_apart, [1, 1], blocks, drift=0, noise=noise))
            for _ in range(TRIALS)
        ]
        name = f"  {blocks} repeats each, unpaired, scatter {noise}%"
        report(name, share([verdict.status in different for verdict in apart]), at_most=5.5)
    families = []
    for _ in range(TRIALS // 4):
        measured = speeds(draw, [1.0] * 5, 8, drift=8, noise=4)
        pairs = [verdict_of(measured[[0, other]]) for other in range(1, 5)]
        families.append(any(verdict.status in different for verdict in family(pairs)))
    report(
        "  any of 4 contenders against one baseline, 8 blocks, Holm", share(families), at_most=5.5
    )

    _print_many_looks(report)
    _report_digits_and_modes(report)
    _report_samples(report)
    _report_outliers(report)

    print("A true difference: found")
    verdicts = many([1.05, 1], 8, drift=8, noise=2)
    report(
        "  5%, 8 blocks, drift 8%, noise 2%",
        share([v.status == "faster" for v in verdicts]),
        at_least=90,
    )
    verdicts = many([1.10, 1], 5, drift=8, noise=2)
    report(
        "  10%, 5 blocks, drift 8%, noise 2%",
        share([v.status == "faster" for v in verdicts]),
        at_least=90,
    )
    unpaired = [
        is_significant_unpaired(speeds(draw, [1.12, 1], 5, drift=8, noise=2)) for _ in range(TRIALS)
    ]
    report(
        "  12%, the same, by the unpaired rule of FREENIX 2002 (its margin is 10%)", share(unpaired)
    )
    ratios = [
        unpaired_of(speeds(draw_apart, [1.12, 1], 5, drift=8, noise=2)) for _ in range(TRIALS)
    ]
    report(
        "  12%, the same, unpaired ratio", share([verdict.status == "faster" for verdict in ratios])
    )
    verdicts = many([1.12, 1], 5, drift=8, noise=2)
    report("  12%, the same, paired", share([v.status == "faster" for v in verdicts]), at_least=90)

    print("A difference of just the margin (2%): called equivalent, wrongly")
    for blocks, noise in ((8, 1), (8, 2), (20, 2), (20, 4)):
        verdicts = many([1.02, 1], blocks, drift=8, noise=noise)
        name = f"  {blocks} blocks, drift 8%, noise {noise}%"
        report(
            name,
            share([verdict.status == EQUIVALENT for verdict in verdicts]),
            at_most=5.5,
        )
    verdicts = many([1, 1], 12, drift=8, noise=1)
    name = "No difference: called equivalent, 12 blocks, noise 1%"
    report(name, share([verdict.status == EQUIVALENT for verdict in verdicts]), at_least=90)

    _report_many_equivalences(report)

    print("Intervals hold the true ratio")
    verdicts = many([1.05, 1], 8, drift=8, noise=4)
    report(
        "  Student's t, 8 blocks",
        share([v.low <= 1.05 <= v.high for v in verdicts]),
        at_least=94,
        at_most=96,
    )
    verdicts = many([1.05, 1], 8, drift=8, noise=4, noise_of=skewed)
    report(
        "  Student's t, 8 blocks, skewed noise",
        share([v.low <= 1.05 <= v.high for v in verdicts]),
        at_least=93,
    )

    print("As many blocks more as an inconclusive verdict asks for: it is decided")
    for difference, noise in ((3, 4), (6, 6)):
        decided: list[bool] = []
        while len(decided) < TRIALS // 4:
            truth = [1 + difference / 100, 1]
            first = speeds(draw, truth, 6, drift=8, noise=noise)
            verdict = verdict_of(first)
            # What it asks for is of what it saw: judged where that is near the truth.
            near = abs(log(verdict.ratio) - log(truth[0])) < 0.005
            if verdict.status != INCONCLUSIVE or verdict.more_blocks is None or not near:
                continue
            more = speeds(draw, truth, verdict.more_blocks, drift=8, noise=noise)
            decided.append(verdict_of(np.hstack([first, more])).status != INCONCLUSIVE)
        report(
            f"  {difference}% apart, noise {noise}%, asked after 6 blocks",
            share(decided),
            at_least=70,
        )
    return 0 if all(promises_kept) else 1


if __name__ == "__main__":
    sys.exit(main())
