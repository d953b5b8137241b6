"""Which metric of a measurement is its primary one. Pure.

Tools print one measurement many times: throughput, operations a second, mean latency, percentiles.
They are one measurement, so an answer counts one of them. The others are secondary.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from fsbench_web.core.scoring import testnames

RATES = ("iops", "ops", "tps", "rate")
THROUGHPUTS = ("bw", "throughput")
LATENCIES = ("lat", "clat", "io_latency", "entry_latency", "latency", "slat", "clat_hist")
TIMES = ("total_time", "access_time", "time", "real")
COSTS = ("cpu_load", "cpu", "parent")
_METRICS = (*RATES, *THROUGHPUTS, *LATENCIES, *TIMES, *COSTS)
_NAME = re.compile(
    rf"(?P<stem>.+?)(?:_(?P<metric>{'|'.join(sorted(_METRICS, key=len, reverse=True))}))?"
    r"(?:_(?P<statistic>mean|avg|max|min|p[0-9]{1,3}(?:\.[0-9]+)?))?(?P<late>_ops|_log)?"
)
_ELBENCHO = re.compile(r"(elbencho_.+)_(first|last)")


class Metric(NamedTuple):
    """How a test measures something: ``measurement`` names what was measured, with its load.

    ``order`` sorts the metrics of one measurement, the primary one first. ``is_speed`` is False of
    percentiles, extremes and costs, which are secondary even where they stand alone.
    """

    measurement: str
    order: tuple[int, int, str]
    is_speed: bool


@lru_cache(maxsize=4096)
def metric_of(test: str) -> Metric:
    """The metric of a test: ``randread_read_iops`` is the primary one of ``randread_read``."""
    name, load = testnames.parts(test)
    by_thread = _ELBENCHO.fullmatch(name)
    which = by_thread[2] if by_thread else ""
    parsed = _NAME.fullmatch(by_thread[1] if by_thread else name)
    assert parsed is not None  # a stem matches anything
    stem, metric, statistic = parsed["stem"], parsed["metric"] or "", parsed["statistic"] or ""
    is_rate_of_ops = parsed["late"] == "_ops"
    kinds = [(), THROUGHPUTS, RATES, LATENCIES, TIMES, COSTS]
    if "rand" in stem:
        kinds[1:3] = [RATES, THROUGHPUTS]
    kind = next((place for place, of_kind in enumerate(kinds) if metric in of_kind), 0)
    is_central = statistic in ("", "mean", "avg")
    order = (
        kind + (1 if is_rate_of_ops else 0),
        (0 if is_central else 2) + (1 if which == "first" or metric in LATENCIES[3:] else 0),
        name,
    )
    return Metric(testnames.at_load(stem, load), order, is_central and metric not in COSTS)


def primary_tests(tests: Collection[str]) -> set[str]:
    """The tests that count: of each measurement its primary metric.

    Percentiles, extremes and costs count only where there is nothing else.
    """
    speeds = [test for test in tests if metric_of(test).is_speed] or list(tests)
    primary: dict[str, str] = {}
    for test in speeds:
        metric = metric_of(test)
        first = primary.setdefault(metric.measurement, test)
        if metric.order < metric_of(first).order:
            primary[metric.measurement] = test
    return set(primary.values())
