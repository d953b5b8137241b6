"""What Prometheus reads: counted requests, and the state of the database at that moment.

Several web processes count together in files (PROMETHEUS_MULTIPROC_DIR, which the supervisor sets).
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from fsbench_web.operations.gauges import Gauges, read_gauges

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# 0.15 and 0.5 s are what pages are held to: alone, and under load.
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30)

registry = CollectorRegistry()
_seconds = Histogram(
    "fsbench_http_request_duration_seconds",
    "Time until the answer was there (of a live log: until it began).",
    ["route", "method"],
    buckets=BUCKETS_S,
    registry=registry,
)
_requests = Counter(
    "fsbench_http_requests",
    "Answers by the class of their status.",
    ["route", "method", "status"],
    registry=registry,
)


def count_request(route: str, method: str, status: int, duration_s: float) -> None:
    """Note one answer. A method that HTTP does not have is "other", as anybody may send any."""
    method = method if method in METHODS else "other"
    _seconds.labels(route, method).observe(duration_s)
    _requests.labels(route, method, f"{status // 100}xx").inc()


class FromDatabase(Collector):
    """Gauges that are read when they are asked for."""

    def describe(self) -> Iterator[Metric]:
        """Nothing: otherwise the registry would read the database to learn the names."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield from families(read_gauges())


registry.register(FromDatabase())


def exposed_registry() -> CollectorRegistry:
    """Metrics of all web processes and of the database."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return registry
    of_all = CollectorRegistry()
    MultiProcessCollector(of_all)
    of_all.register(FromDatabase())
    return of_all


# Name, help and key of what each worker and each LUN has.
_OF_WORKERS = (
    ("fsbench_queue_length", "Runs that wait.", "waiting"),
    ("fsbench_queue_oldest_seconds", "Start of the longest wait.", "oldest_s"),
    ("fsbench_worker_up", "1 while it sends heartbeats, else 0.", "is_alive"),
    ("fsbench_worker_silent_seconds", "Since its last heartbeat.", "silent_s"),
    ("fsbench_worker_drained", "1 if it is drained.", "is_drained"),
)
_OF_LUNS = (
    ("fsbench_lun_in_use", "1 while a run holds it.", "is_in_use"),
    ("fsbench_lun_usable", "1 if its host lists it and can use it.", "is_usable"),
    (
        "fsbench_lun_busy_seconds_last_day",
        "Of the last 24 hours, how long runs had it; journals are not counted.",
        "busy_s_last_day",
    ),
)


def families(gauges: Gauges) -> Iterator[Metric]:
    """The gauges in Prometheus' terms."""
    yield _gauge("fsbench_runs", "Runs by state.", gauges.runs, "state")
    yield _gauge(
        "fsbench_runs_ended_last_day",
        "Runs that ended in the last 24 hours.",
        gauges.ended_last_day,
        "state",
    )
    for name, text, key in _OF_WORKERS:
        values = {worker: numbers[key] for worker, numbers in gauges.workers.items()}
        yield _gauge(name, text, values, "worker")
    for name, text, key in _OF_LUNS:
        of_luns = {lun: numbers[key] for lun, numbers in gauges.luns.items()}
        yield _gauge(name, text, of_luns, "worker", "lun")
    yield _gauge(
        "fsbench_imports_waiting",
        "Large uploads that wait for the importer, or are in its hands.",
        {(): gauges.imports_waiting},
    )
    yield _gauge(
        "fsbench_chore_age_seconds",
        "Seconds since regular work last succeeded.",
        gauges.chore_ages_s,
        "chore",
    )
    backups = gauges.backups
    yield _gauge(
        "fsbench_backup_failed",
        "1 if the last backup failed or ended without a report, else 0.",
        {(): backups.failed is not None},
    )
    yield _gauge(
        "fsbench_backup_age_seconds",
        "Age of the data in the last complete backup.",
        {(): None if backups.age is None else backups.age.total_seconds()},
    )
    yield _gauge(
        "fsbench_backup_size_bytes",
        "Size of the last complete backup.",
        {(): backups.whole.size_bytes if backups.whole else None},
    )


def _gauge(name: str, text: str, values: Mapping[Any, float | None], *labels: str) -> Metric:
    """A gauge of ``values`` by label, or labels; None: it is not known, and left out."""
    metric = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        if value is not None:
            metric.add_metric([key] if isinstance(key, str) else list(key), float(value))
    return metric
