"""What a run costs its worker beside what it measures: processor time, and what it asks for.

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.worker_cost [--runs 40]

As root: a loop device is attached. One worker in this process, with the tests' fake executor, whose
agent says everything at once: what is left is the work between two benchmarks, and the storing of a
result of 120 numbers with their scores. Without PostgreSQL in DATABASE_URL it takes SQLite.

Prints for a run, for one that takes five seconds, for a heartbeat of the worker and for its look at
the LUNs the milliseconds of a processor of the worker, of the programs that it starts and of
PostgreSQL, and how many statements, programs, and opened files and folders that is. Other work on
the machine makes all times longer: compare two versions in turn. Counts do not depend on it, but
for folders: the checks of a LUN open one of each process of the host.

``--profile FILE`` keeps what cProfile saw of the runs.
"""

import argparse
import contextlib
import cProfile
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WARM_UP = 10
LONG_S, LONG_RUNS = 5, 3
TIMES = 20
STATEMENTS, PROGRAMS, OPENED = "statements", "programs", "files and folders opened"
HEARD = {"subprocess.Popen": PROGRAMS} | dict.fromkeys(("open", "os.listdir", "os.scandir"), OPENED)


class Counts(Counter[str]):
    """What this process asked for while it ``is_counting``."""

    is_counting = False

    def hear(self, event: str, _: object) -> None:
        if self.is_counting and event in HEARD:
            self[HEARD[event]] += 1

    def statement(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self[STATEMENTS] += 1
        return execute(*arguments)


def used_s() -> dict[str, float]:
    """Seconds of a processor until now."""
    from django.db import connection

    from benchmarks.load.site import used_by_postgres_s

    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = {
        "worker": time.process_time(),
        "its programs": children.ru_utime + children.ru_stime,
    }
    if connection.vendor == "postgresql":
        seconds["PostgreSQL"] = used_by_postgres_s()
    return seconds


def measure(title: str, times: int, work: Callable[[], object], counts: Counts) -> None:
    """Do the work so many times, and print what one time is."""
    from django.db import connection

    counts.clear()
    before = used_s()
    counts.is_counting = True
    with connection.execute_wrapper(counts.statement):
        for _ in range(times):
            work()
    counts.is_counting = False
    after = used_s()
    took = {name: 1000 * (after[name] - before[name]) / times for name in after}
    parts = ", ".join(f"{name} {ms:.1f}" for name, ms in took.items())
    calls = ", ".join(
        f"{counts[name] / times:.1f} {name}" for name in (STATEMENTS, PROGRAMS, OPENED)
    )
    print(f"{title}: {sum(took.values()):.1f} ms ({parts}); {calls}", flush=True)


@contextlib.contextmanager
def worker(folder: Path) -> Iterator[tuple[Any, Any]]:
    """A host with a LUN of its own, and its row."""
    from benchmarks.load.site import WORKER, write_lun

    os.environ |= {"FSBENCH_LUNS": str(write_lun(folder)), "FSBENCH_WORKER": f"{WORKER}-0"}
    from runner import service
    from runner.config import read_config
    from runner.executors.fake import FakeExecutor
    from runner.worker import Host

    host = Host(read_config(), FakeExecutor(), "benchmarks.worker_cost")
    try:
        yield host, service.begin(host)
    finally:
        host.stopping.set()
        host.stop()


def main(runs: int, profile: str) -> int:
    import logging

    import django

    django.setup()
    logging.disable(logging.INFO)
    from django.core.management import call_command

    from benchmarks.load.runs import submit_runs
    from benchmarks.load.worker import script_of
    from fsbench_web.studies.models import Run, RunState
    from fsbench_web.studies.runs import lifecycle
    from runner import service
    from runner.execution.execute import execute
    from runner.executors.fake import FakeExecutor

    call_command("migrate", verbosity=0)
    counts = Counts()
    sys.addaudithook(counts.hear)
    count = WARM_UP + runs + LONG_RUNS
    with (
        tempfile.TemporaryDirectory(prefix="fsbench-cost-") as name,
        worker(Path(name)) as host_and_row,
    ):
        host, row = host_and_row
        submit_runs(1, count + 1)
        waiting = iter(list(Run.objects.order_by("pk").values_list("pk", flat=True)))

        def one_run() -> None:
            execute(next(waiting), row, host)

        for _ in range(WARM_UP):
            one_run()
        with cProfile.Profile() if profile else contextlib.nullcontext() as profiler:
            measure("a run", runs, one_run, counts)
        if profiler is not None:
            profiler.dump_stats(profile)
        host.executor = FakeExecutor(script_of(LONG_S))
        measure(f"a run of {LONG_S} s", LONG_RUNS, one_run, counts)
        lifecycle.claim(next(waiting), row)  # heartbeats are sent while a run has the LUN
        measure("a heartbeat", TIMES, lambda: service.send_heartbeat(host), counts)
        measure("a look at the LUNs", TIMES, host.refresh, counts)
        done = Run.objects.filter(state=RunState.DONE).count()
    load = os.getloadavg()[0]
    print(f"{done} of {count} runs done; {os.cpu_count()} processors, load {load:.1f}")
    return 0 if done == count else 1


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    parser = argparse.ArgumentParser(description="What a run costs its worker; see this file's top")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--profile", default="", metavar="FILE")
    chosen = parser.parse_args()
    sys.exit(main(chosen.runs, chosen.profile))
