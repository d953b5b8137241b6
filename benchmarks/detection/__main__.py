"""How many labelled changes of level a rule finds, and how many alarms are false.

    .venv/bin/python -m benchmarks.detection [LINES]

Rules: fsbench at two margins, Apache Otava 0.8 where it is installed (it is no dependency:
``.venv/bin/pip install --no-deps apache-otava==0.8.0``), a Perfherder-like t above 7, and never.
An alarm within NEAR values of a label is a hit. Exits with 1 where a promise of docs/method.md is
not kept.
"""

import csv
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from math import inf, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsbench_web.compare.watches import reportable
from fsbench_web.core.stats.changes import changes, levels

DATA = Path(__file__).parent / "data"
NEAR = 5
SEED = 20_261_129
DAYS, LONG = 365, 100
MOST_RUNS = 150
"""Of a line, as ``compare.history.lines`` has it."""
LINES, MOST_SECONDS = 43, 1.0
STEPS, QUIET_DAYS = 400, 100
SHAPES, STEP = 200, 100
MOST_FALSE, LEAST_FOUND = 0.01, 0.95
Values = NDArray[np.float64]
Points = list[list[float]]
Rule = Callable[[Points], Sequence[int]]


class Labelled(NamedTuple):
    """A series: ``labels`` are places of values; ``starts`` the first value of each point."""

    name: str
    points: Points
    starts: list[int]
    labels: tuple[int, ...]


def labelled_series() -> Iterator[Labelled]:
    folder = DATA / "sap-hana-small-2021"
    with (folder / "dataset_details.csv").open() as details:
        for row in csv.DictReader(details, delimiter=";"):
            points: Points = []
            starts, last = [], None
            with (folder / row["Dataset"]).open() as series:
                for place, value in enumerate(csv.DictReader(series)):
                    if value["GHC"] != last:
                        points.append([])
                        starts.append(place)
                    points[-1].append(float(value["Measurement"]))
                    last = value["GHC"]
            change = int(row["Change Point"])
            yield Labelled(row["Dataset"], points, starts, (change - 1,) if change else ())
    with (DATA / "otava-tigerbeetle/series.csv").open() as series:
        values = [float(row["value"]) for row in csv.DictReader(series)]
    points = [[value] for value in values]
    yield Labelled("tigerbeetle", points, list(range(len(values))), (15, 71))


def fsbench(margin_percent: float) -> Rule:
    return lambda points: [change.place for change in changes(points, margin_percent)]


def otava(max_p_value: float, magnitude: float) -> Rule:
    from otava.analysis import compute_change_points  # type: ignore[import-not-found]

    def places(points: Points) -> list[int]:
        means = [float(np.mean(point)) for point in points]
        found, _ = compute_change_points(means, max_pvalue=max_p_value, min_magnitude=magnitude)
        return [change.index for change in found]

    return places


def t_above_seven(points: Points) -> list[int]:
    """With twelve points on each side, once for each run of places above 7."""
    means = [float(np.mean(point)) for point in points]
    found: list[tuple[int, float]] = []
    for place in range(12, len(means) - 11):
        left, right = means[place - 12 : place], means[place : place + 12]
        error = sqrt((np.var(left, ddof=1) + np.var(right, ddof=1)) / 12)
        difference = abs(np.mean(right) - np.mean(left))
        t = float(difference / error) if error else (inf if difference else 0.0)
        if t > 7:
            if found and place - found[-1][0] < 12:
                found[-1] = max(found[-1], (place, t), key=lambda pair: pair[1])
            else:
                found.append((place, t))
    return [place for place, _ in found]


def score(rule: Rule, series: Sequence[Labelled]) -> tuple[int, int, int]:
    """Labels found, series without a label that have an alarm, further alarms near no label."""
    hits = alarmed = further = 0
    for one in series:
        alarms = [one.starts[place] for place in rule(one.points)]
        found = [any(abs(alarm - label) <= NEAR for alarm in alarms) for label in one.labels]
        far = [all(abs(alarm - label) > NEAR for label in one.labels) for alarm in alarms]
        hits += sum(found)
        alarmed += bool(alarms) and not one.labels
        further += sum(far) if one.labels else 0
    return hits, alarmed, further


def rules() -> dict[str, Rule]:
    found: dict[str, Rule] = {"fsbench, 5%": fsbench(5), "fsbench, 10%": fsbench(10)}
    if importlib.util.find_spec("otava"):
        found |= {"Otava 0.8, defaults": otava(0.001, 0.0), "Otava 0.8, 5%": otava(0.001, 0.05)}
    return found | {"t above 7": t_above_seven, "never": lambda points: []}


def scorecard() -> bool:
    series = list(labelled_series())
    labels = sum(len(one.labels) for one in series)
    quiet = sum(not one.labels for one in series)
    print(f"Found of {labels}; alarmed of {quiet} series without a change; further alarms; seconds")
    scores = {}
    for name, rule in rules().items():
        began = time.perf_counter()
        scores[name] = score(rule, series)
        taken = time.perf_counter() - began
        print(f"  {name:20} {' '.join(f'{count:3}' for count in scores[name])} {taken:7.2f}")
    found, *false = scores["fsbench, 5%"]
    otavas = [of for name, of in scores.items() if name.startswith("Otava")]
    best = max((hits for hits, *_ in otavas), default=0)
    fewest = min((sum(alarms) for hits, *alarms in otavas if hits == best), default=4)
    return found == labels and sum(false) <= min(2, fewest / 2)


def simulated() -> None:
    """Alarms of each rule a line of 150 days, with the noise of the labelled series; no promise."""
    print(f"Of {SHAPES} lines of {MOST_RUNS} days with measured noise: found steps, alarms a line")
    shares = measured_noise()
    for name, rule in rules().items():
        draw, counts = np.random.default_rng(SEED), []
        for shape in SHAPED.values():
            alarms = [
                rule(
                    [[float(value)] for value in 1000 * shape(draw) * (1 + noise_of(draw, shares))]
                )
                for _ in range(SHAPES)
            ]
            counts.append(sum(map(len, alarms)) / SHAPES)
            if shape is step:
                found = sum(any(abs(one - STEP) <= NEAR for one in places) for places in alarms)
        words = ", ".join(f"{one} {count:.2f}" for one, count in zip(SHAPED, counts, strict=True))
        print(f"  {name:20} {100 * found / SHAPES:3.0f}%; {words}", flush=True)


def noise_of(draw: np.random.Generator, shares: Sequence[Values], days: int = MOST_RUNS) -> Values:
    return draw.choice(shares[int(draw.integers(len(shares)))], days)


def first_told(values: Values, since: int, margin: float) -> int | None:
    """After how many days a watch first tells of a change, of one value a day."""
    points = [[float(value)] for value in values]
    for day in range(since, len(points) + 1):
        seen = points[max(0, day - MOST_RUNS) : day]
        found = levels(seen).changes(margin)
        if reportable.significant_changes(found, seen, of_kernels=False):
            return day
    return None


def measured_noise() -> list[Values]:
    """What each long quiet series of the labelled set scatters by, as shares of its median."""
    found = []
    for series in labelled_series():
        means = np.array([float(np.mean(point)) for point in series.points])
        if not series.labels and len(means) >= LONG:
            found.append(means / np.median(means) - 1)
    return found


def flat_lines(lines: int) -> bool:
    """Whether a watch reports few of the lines without a change, of one value a day."""
    print(f"Told in a year of daily looks, of {lines} lines without a change")
    draw = np.random.default_rng(SEED)
    # Without a margin the size of the noise does not matter; a watch with one tells of fewer.
    told = sum(
        first_told(1000 * (1 + 0.01 * draw.normal(size=DAYS)), 3, 0.0) is not None
        for _ in range(lines)
    )
    print(f"  normal noise, no margin {100 * told / lines:5.2f}%", flush=True)
    return told <= lines * MOST_FALSE


def measured_lines(lines: int) -> None:
    """The same with the noise that labelled series have; no promise."""
    draw, shares, told = np.random.default_rng(SEED), measured_noise(), 0
    for _ in range(lines):
        told += first_told(1000 * (1 + noise_of(draw, shares, DAYS)), 3, 5.0) is not None
    print(f"  measured noise, margin 5% {100 * told / lines:5.2f}% of {lines}", flush=True)


def other_lines() -> bool:
    """Whether steps are found in time, and many lines within a second."""
    draw, found = np.random.default_rng(SEED), 0
    for _ in range(STEPS):
        values = 1000 * (1 + 0.01 * draw.normal(size=QUIET_DAYS + 2))
        values[QUIET_DAYS:] *= 0.95
        found += first_told(values, QUIET_DAYS + 2, 0.0) is not None
    print(f"A step of 5%, noise of 1%, told within two days: {100 * found / STEPS:.1f}%")
    points = [[[float(value)] for value in draw.normal(size=MOST_RUNS)] for _ in range(LINES)]
    began = time.perf_counter()
    for line in points:
        levels(line)
    taken = time.perf_counter() - began
    print(f"{LINES} lines of {MOST_RUNS} days take {taken:.2f} s")
    return found >= STEPS * LEAST_FOUND and taken < MOST_SECONDS


def flat(draw: np.random.Generator) -> Values:
    return np.ones(MOST_RUNS)


def step(draw: np.random.Generator) -> Values:
    return np.where(np.arange(MOST_RUNS) < STEP, 1.0, 0.9)


def drift(draw: np.random.Generator) -> Values:
    return np.linspace(1.0, 0.9, MOST_RUNS)


def spikes(draw: np.random.Generator) -> Values:
    values = flat(draw)
    values[draw.choice(MOST_RUNS, 5, replace=False)] = 0.8
    return values


def modes(draw: np.random.Generator) -> Values:
    stays = draw.random(MOST_RUNS) < 0.8
    return np.where(np.cumsum(~stays) % 2, 1.0, 0.85)


SHAPED = {
    "flat": flat,
    "a step of 10%": step,
    "a drift of 10%": drift,
    "five spikes of 20%": spikes,
    "two modes, 15% apart": modes,
}


if __name__ == "__main__":
    asked_lines = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    is_kept = [scorecard(), other_lines()]
    simulated()
    is_kept.append(flat_lines(asked_lines))
    measured_lines(asked_lines // 10)
    sys.exit(0 if all(is_kept) else 1)
