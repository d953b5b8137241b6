"""What the page of a run shows of its latencies: percentiles with intervals, and curves."""

from dataclasses import dataclass
from typing import Any

from fsbench_web.core import latency
from fsbench_web.core.latency import TAILS, Distribution
from fsbench_web.core.latency_over_time import PERCENTS, LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.figures import lines as figures
from fsbench_web.figures import over_time as figures_over_time
from fsbench_web.studies.activity import latencies

MOST_SHOWN = 40
"""Distributions of a page, in the order of the run; the API has all."""


@dataclass(frozen=True)
class Tail:
    """One percentile, and between which values it lies at 95%; None where nobody can tell."""

    percent: str
    value: float
    ends: tuple[float, float] | None


@dataclass(frozen=True)
class ShownLatency:
    """A distribution of a run; ``maximum`` is the largest latency, as it was measured."""

    label: str
    unit: str
    total: int
    tails: list[Tail]
    maximum: float | None


@dataclass(frozen=True)
class ShownLatencies:
    """``choices`` are figures by what they are called; ``hidden`` distributions are not shown."""

    rows: list[ShownLatency]
    choices: dict[str, Any]
    percents: tuple[str, ...] = TAILS
    hidden: int = 0
    problem: str = ""


def of_run(run_id: int) -> ShownLatencies | None:
    """None where the run has none."""
    try:
        distributions = latencies.of_run(run_id)
        serieses = latencies.series_of_run(run_id) if distributions else []
    except UnreadableBlock as error:
        return ShownLatencies([], {}, problem=str(error))
    if not distributions:
        return None
    over_time = {(series.test, series.load): series for series in serieses}
    ordered = sorted(
        distributions, key=lambda distribution: testnames.place(name_of(distribution))
    )[:MOST_SHOWN]
    choices = {}
    for distribution in ordered:
        label = label_of(distribution)
        lines = [figures.of_histogram(label, distribution.shares())]
        choices[f"{label}: percentiles"] = figures.percentiles(lines, distribution.unit, label)
        choices[f"{label}: share of all (CDF)"] = figures.cdf(lines, distribution.unit, label)
        if (logged := over_time.get((distribution.test, distribution.load))) is not None:
            title = f"{label}, {logged.total:,} of {distribution.total:,} completions"
            choices[f"{label}: over time"] = _over_time(logged, title)
    return ShownLatencies(
        [row_of(label_of(distribution), distribution) for distribution in ordered],
        choices,
        hidden=len(distributions) - len(ordered),
    )


def _over_time(series: LatencySeries, label: str) -> Any:
    names = [f"p{percent}" for percent in PERCENTS]
    lines = {**dict(zip(names, series.percentiles, strict=True)), "maximum": series.maxima}
    seconds = [end_ms / 1000 for end_ms in series.ends_ms]
    return figures_over_time.latencies(
        {name: (values, seconds, series.counts) for name, values in lines.items()},
        series.unit,
        label,
    )


def name_of(distribution: Distribution) -> str:
    return testnames.at_load(distribution.test, distribution.load)


def label_of(distribution: Distribution) -> str:
    """What people read of it, with its load."""
    label = testnames.label_of_latency(distribution.test)
    return label if not distribution.load else f"{label} at {loads.words(distribution.load)}"


def row_of(label: str, distribution: Distribution) -> ShownLatency:
    """Its tails, each with the interval of order statistics."""
    tails = [
        Tail(percent, float(distribution.percentile(percent)), distribution.interval(percent))
        for percent in latency.TAILS
    ]
    return ShownLatency(label, distribution.unit, distribution.total, tails, distribution.most)
