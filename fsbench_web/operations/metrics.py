"""What Prometheus reads: requests as this process counted them, everything else as the database has
it at that moment. Several web processes count together in files (PROMETHEUS_MULTIPROC_DIR: the
supervisor sets it); what workers change (runs, LUNs) is never counted in a process at all.

Labels come from closed sets: names of addresses, states, and the names of workers and LUNs.
"""

import os
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from fsbench_web.operations.backups import Backups
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


def families(gauges: Gauges) -> Iterator[Metric]:
    """The gauges in Prometheus' terms."""
    runs = GaugeMetricFamily("fsbench_runs", "Runs by state.", labels=["state"])
    for state, count in gauges.runs.items():
        runs.add_metric([state], count)
    yield runs
    ended = GaugeMetricFamily(
        "fsbench_runs_ended_last_day", "Runs that ended in the last 24 hours.", labels=["state"]
    )
    for state, count in gauges.ended_last_day.items():
        ended.add_metric([state], count)
    yield ended

    of_worker = ["worker"]
    queue = GaugeMetricFamily("fsbench_queue_length", "Runs that wait.", labels=of_worker)
    oldest = GaugeMetricFamily(
        "fsbench_queue_oldest_seconds", "Since when the oldest of them waits.", labels=of_worker
    )
    up = GaugeMetricFamily(
        "fsbench_worker_up", "1 while it sends heartbeats, else 0.", labels=of_worker
    )
    silent = GaugeMetricFamily(
        "fsbench_worker_silent_seconds", "Since its last heartbeat.", labels=of_worker
    )
    drained = GaugeMetricFamily(
        "fsbench_worker_drained", "1 where somebody drained it.", labels=of_worker
    )
    for worker in gauges.workers:
        queue.add_metric([worker.name], worker.waiting)
        if worker.oldest_s is not None:
            oldest.add_metric([worker.name], worker.oldest_s)
        up.add_metric([worker.name], float(worker.is_alive))
        silent.add_metric([worker.name], worker.silent_s)
        drained.add_metric([worker.name], float(worker.is_drained))
    yield from (queue, oldest, up, silent, drained)

    of_lun = ["worker", "lun"]
    in_use = GaugeMetricFamily("fsbench_lun_in_use", "1 while a run has it.", labels=of_lun)
    usable = GaugeMetricFamily(
        "fsbench_lun_usable", "1 where its host lists it and can use it.", labels=of_lun
    )
    busy = GaugeMetricFamily(
        "fsbench_lun_busy_seconds_last_day",
        "Of the last 24 hours, how long runs had it; journals are not counted.",
        labels=of_lun,
    )
    for lun in gauges.luns:
        in_use.add_metric([lun.worker, lun.name], float(lun.is_in_use))
        usable.add_metric([lun.worker, lun.name], float(lun.is_usable))
        busy.add_metric([lun.worker, lun.name], lun.busy_s_last_day)
    yield from (in_use, usable, busy)

    imports = GaugeMetricFamily(
        "fsbench_imports_waiting", "Large uploads that wait for the importer, or are in its hands."
    )
    imports.add_metric([], gauges.imports_waiting)
    yield imports
    age = GaugeMetricFamily(
        "fsbench_chore_age_seconds", "Since regular work last succeeded.", labels=["chore"]
    )
    for name, seconds in gauges.chore_ages_s.items():
        age.add_metric([name], seconds)
    yield age
    yield from _of_backups(gauges.backups)


def _of_backups(backups: Backups) -> Iterator[Metric]:
    """Unknown values are left out."""
    failed = GaugeMetricFamily(
        "fsbench_backup_failed", "1 where the last backup failed or ended without a word, else 0."
    )
    failed.add_metric([], float(backups.failed is not None))
    yield failed
    age = GaugeMetricFamily(
        "fsbench_backup_age_seconds", "Age of what is in the last backup that is whole."
    )
    size = GaugeMetricFamily("fsbench_backup_size_bytes", "Size of the last backup that is whole.")
    if backups.age is not None:
        age.add_metric([], backups.age.total_seconds())
    if backups.whole and backups.whole.size_bytes is not None:
        size.add_metric([], backups.whole.size_bytes)
    yield from (age, size)
