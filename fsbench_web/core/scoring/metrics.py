"""Which metric of a measurement counts: rates, latencies and percentiles are one. Pure."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from fsbench_web.core.scoring import testnames

RATES = ("iops", "ops", "tps", "rate")
THROUGHPUTS = ("bw", "throughput")
LATENCIES = ("io_latency", "entry_latency", "clat_hist", "latency", "clat", "slat", "lat")
TIMES = ("total_time", "access_time", "time", "real")
COSTS = ("cpu_load", "cpu", "parent")
_METRICS = (*TIMES, *LATENCIES, *RATES, *THROUGHPUTS, *COSTS)
_CENTRAL, _EXTREMES = ("mean", "avg"), ("max", "min")
_LESS_COMMON = ("clat", "slat", "clat_hist")


class Metric(NamedTuple):
    """A measurement with its load; the least ``order`` is primary. ``is_speed``: central."""

    measurement: str
    order: tuple[int, int, str]
    is_speed: bool


@lru_cache(maxsize=4096)
def metric_of(test: str) -> Metric:
    """The metric of a test: ``randread_read_iops`` is the primary one of ``randread_read``."""
    name, load = testnames.parts(test)
    stem, which = _cut(name, ("first", "last") if name.startswith("elbencho_") else ())
    stem, late = _cut(stem, ("log",))
    stem, statistic = _statistic(stem)
    if not statistic:  # ior_read_mean_ops
        stem, ops = _cut(stem, ("ops",))
        before, statistic = _statistic(stem) if ops else (stem, "")
        stem = before if statistic else f"{stem}_ops" if ops else stem
        late = late or (ops if statistic else "")
    stem, metric = _cut(stem, _METRICS)
    kinds = [(), THROUGHPUTS, RATES, LATENCIES, TIMES, COSTS]
    if "rand" in stem:
        kinds[1:3] = [RATES, THROUGHPUTS]
    kind = next((place for place, of_kind in enumerate(kinds) if metric in of_kind), 0)
    is_central = statistic in ("", *_CENTRAL)
    is_second = which == "first" or metric in _LESS_COMMON
    order = (kind + bool(late), 2 * (not is_central) + is_second, name)
    return Metric(testnames.at_load(stem, load), order, is_central and metric not in COSTS)


def _cut(name: str, endings: Iterable[str]) -> tuple[str, str]:
    """The name without the first of these endings that it has, and the ending; "" for none."""
    for ending in endings:
        if name.endswith(f"_{ending}") and len(name) > len(ending) + 1:
            return name[: -len(ending) - 1], ending
    return name, ""


def _statistic(name: str) -> tuple[str, str]:
    """The same of a mean, an extreme or a percentile: ``p99.9``."""
    stem, _, last = name.rpartition("_")
    is_percentile = last[:1] == "p" and last[1:].replace(".", "", 1).isdecimal()
    known = last in (*_CENTRAL, *_EXTREMES) or is_percentile
    return (stem, last) if stem and known else (name, "")


def primary_tests(tests: Collection[str]) -> set[str]:
    """The primary metric of each measurement; percentiles, extremes and costs only if alone."""
    speeds = [test for test in tests if metric_of(test).is_speed] or list(tests)
    primary: dict[str, str] = {}
    for test in speeds:
        metric = metric_of(test)
        first = primary.setdefault(metric.measurement, test)
        if metric.order < metric_of(first).order:
            primary[metric.measurement] = test
    return set(primary.values())
