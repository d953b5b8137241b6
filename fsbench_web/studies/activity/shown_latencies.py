"""What the page of a run shows of its latencies: percentiles with intervals, and curves."""

from dataclasses import dataclass
from typing import Any

from fsbench_web.core import latency
from fsbench_web.core.latency import TAILS, Distribution
from fsbench_web.core.latency_over_time import PERCENTS, LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.figures.activity import distribution as figure
from fsbench_web.figures.activity import latency_over_time as figure_over_time
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
    """A distribution of a run; ``most`` is the largest latency, as it was measured."""

    label: str
    unit: str
    total: int
    tails: list[Tail]
    most: float | None


@dataclass(frozen=True)
class ShownLatencies:
    """``choices`` are figures by what they are called; ``hidden`` distributions are not shown."""

    rows: list[ShownLatency]
    choices: dict[str, Any]
    percents: tuple[str, ...] = TAILS
    hidden: int = 0
    problem: str = ""


def shown(run_id: int) -> ShownLatencies | None:
    """None where the run has none."""
    try:
        found = latencies.of_run(run_id)
        series = latencies.series_of_run(run_id) if found else []
    except UnreadableBlock as error:
        return ShownLatencies([], {}, problem=str(error))
    if not found:
        return None
    over_time = {(one.test, one.load): one for one in series}
    ordered = sorted(found, key=lambda one: testnames.place(name_of(one)))[:MOST_SHOWN]
    choices = {}
    for one in ordered:
        label = label_of(one)
        lines = {label: one.shares()}
        choices[f"{label}: percentiles"] = figure.percentile_curve(lines, one.unit, label)
        choices[f"{label}: share of all (CDF)"] = figure.cumulative(lines, one.unit, label)
        if (logged := over_time.get((one.test, one.load))) is not None:
            title = f"{label}, {logged.total:,} of {one.total:,} completions"
            choices[f"{label}: over time"] = _over_time(logged, title)
    return ShownLatencies(
        [row_of(label_of(one), one) for one in ordered],
        choices,
        hidden=len(found) - len(ordered),
    )


def _over_time(one: LatencySeries, label: str) -> Any:
    names = [f"p{percent}" for percent in PERCENTS]
    return figure_over_time.over_time(
        {**dict(zip(names, one.percentiles, strict=True)), "maximum": one.most},
        [end_ms / 1000 for end_ms in one.ends_ms],
        one.counts,
        one.unit,
        label,
    )


def name_of(one: Distribution) -> str:
    return testnames.at_load(one.test, one.load)


def label_of(one: Distribution) -> str:
    """What people read of it, with its load."""
    label = testnames.label_of_latency(one.test)
    return label if not one.load else f"{label} at {loads.words(one.load)}"


def row_of(label: str, one: Distribution) -> ShownLatency:
    """Its tails, each with the interval of order statistics."""
    tails = [
        Tail(percent, float(one.percentile(percent)), one.interval(percent))
        for percent in latency.TAILS
    ]
    return ShownLatency(label, one.unit, one.total, tails, one.most)
