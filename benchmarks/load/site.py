"""A site under load: its processes, what its workers do, and whether anything of it was lost."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.load.clients import CELLS, RequestLog

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
WEB, WORKER = "web", "load"
"""What the names of web processes and of workers begin with."""
REPEATS = 5
STUDY = "under-load"
SMALL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 64,
    "minimum_file_kb": 64,
    "maximum_file_kb": 512,
}


class Site:
    """The processes of the site, each with its log."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *argv: str, **more: Any) -> None:
        variables = {"FSBENCH_TEST_DATA": str(self.folder / name)} | more.pop("env", {})
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *argv],
                env=self.environment | variables,
                stdout=log,
                stderr=log,
                **more,
            )

    def start_worker(self, name: str, run_takes_s: float) -> None:
        folder = self.folder / name
        folder.mkdir()
        env = {
            "FSBENCH_LUNS": str(write_lun(folder)),
            "FSBENCH_WORKER": name,
            "FSBENCH_LOAD_RUN_TAKES_S": str(run_takes_s),
            "DJANGO_SETTINGS_MODULE": "tests.settings",
        }
        self.start(name, "-m", "benchmarks.load.site", env=env)

    def stop(self, names: list[str] | None = None) -> None:
        """Ask all (or some) to end, and wait."""
        chosen = [self.processes[name] for name in names or self.processes]
        for process in chosen:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in chosen:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()

    def of_kind(self, kind: str) -> dict[str, int]:
        """The process ids of all processes of this kind, by name."""
        processes = self.processes.items()
        return {name: process.pid for name, process in processes if name.startswith(f"{kind}-")}

    def most_mb(self) -> dict[str, float]:
        """What each web process held in memory at most (VmHWM of proc(5))."""
        held = {}
        for name, pid in self.of_kind(WEB).items():
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            held[name] = next(int(line.split()[1]) for line in lines if line[:6] == "VmHWM:") / 1000
        return held

    def errors(self) -> Iterator[str]:
        """Processes that ended, and lines of level ERROR or above, of the logs (JSON)."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                yield f"{name} ended with {process.returncode}"
            for line in (self.folder / f"{name}.log").read_text().splitlines():
                try:
                    data = json.loads(line)
                except ValueError:
                    yield f"{name}: {line[:300]}"
                    continue
                if data["level"] in ("ERROR", "CRITICAL"):
                    yield f"{name}: {data['message'][:200]} {data.get('error', '')[-200:]}"


def write_lun(folder: Path) -> Path:
    """A worker's list of LUNs, with one that is a sparse file."""
    luns = folder / "luns.toml"
    luns.write_text(
        f'[[lun]]\nname = "disk"\nkind = "sparse-file"\npath = "{folder}/disk.img"\n'
        'size = "64 MiB"\n'
    )
    luns.chmod(0o600)
    return luns


@contextmanager
def site(options: argparse.Namespace) -> Iterator[tuple[Site, int]]:
    """Everything started; gives it and the port of the web."""
    from fsbench_web.serving.supervisor import open_socket
    from tests.services.redis import redis

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fsbench-load-")))
        url = stack.enter_context(redis())
        listening = stack.enter_context(open_socket("127.0.0.1", 0))
        environment = os.environ | {"CELERY_BROKER_URL": url, "FSBENCH_LOG_FORMAT": "json"}
        if options.processes > 1:
            counters = folder / "counters"
            counters.mkdir()
            environment["PROMETHEUS_MULTIPROC_DIR"] = str(counters)
        running_site = Site(folder, environment)
        stack.callback(running_site.stop)
        web = str(listening.fileno())
        for number in range(options.processes):
            argv = ("-m", "fsbench_web.serving.web", web)
            running_site.start(f"web-{number}", *argv, pass_fds=[listening.fileno()])
        running_site.start("importer", str(MANAGE), "importer")
        for number in range(options.workers):
            running_site.start_worker(f"load-{number}", options.run_takes)
        yield running_site, listening.getsockname()[1]


def wait_for_workers(count: int) -> None:
    """Until each has said which device its LUN is: a job for one nobody knows is refused."""
    from fsbench_web.catalog.models import Lun

    deadline = time.monotonic() + 120
    announced = Lun.objects.filter(worker__name__startswith=f"{WORKER}-")
    while sum(1 for lun in announced.all() if lun.fingerprint) < count:
        if time.monotonic() > deadline:
            sys.exit("Not all workers announced their LUNs within two minutes.")
        time.sleep(0.5)


def submit_runs(workers: int, per_worker: int) -> None:
    """Queued runs for every worker, more than it can do."""
    from django.db import transaction

    from fsbench_web.catalog.configurations.records import configuration_for
    from fsbench_web.catalog.models import Lun, Workload
    from fsbench_web.studies.models import Run, Study
    from fsbench_web.studies.runs import new_runs
    from fsbench_web.studies.series import series_for

    study = Study.objects.create(slug=STUDY, title="Under load")
    workload = Workload.objects.create(
        slug=STUDY, title="Under load", tool="iozone", parameters=SMALL
    )
    flags = [{}, {"atime": "noatime"}, {"atime": "nodiratime"}, {"atime": "strictatime"}]
    kinds = [(filesystem, options) for filesystem in ("ext4", "xfs", "btrfs") for options in flags]
    for lun in Lun.objects.filter(worker__name__startswith=f"{WORKER}-").select_related("worker"):
        queued_runs = []
        for filesystem, options in kinds[: 1 + per_worker // REPEATS]:
            series = series_for(
                study,
                configuration_for(filesystem, options, external_journal=False),
                workload=workload,
                hardware=lun.worker.hardware,
                lun=lun,
                journal_lun=None,
                kernel=lun.worker.capabilities["kernel"],
                distribution=lun.worker.capabilities["distribution"],
            )
            repeats = max(REPEATS, per_worker // len(kinds) + 1)
            queued_runs += [
                Run(series=series, repeat=repeat + 1, confirmed=new_runs.confirmed_of(lun, None))
                for repeat in range(repeats)
            ]
        with transaction.atomic():
            new_runs.create_all_queued(queued_runs, by=None, job=None)


def lost_writes(seen: RequestLog) -> Iterator[str]:
    """What was confirmed, or ended as done, and is not there as it should be."""
    from fsbench_web.studies.models import Lease, MeasurementBlock, Run, RunState
    from fsbench_web.studies.scores import measurements

    for run_id, first in seen.uploaded.items():
        blocks = MeasurementBlock.objects.filter(run=run_id, run__state=RunState.DONE)
        values = sorted(row.value for row in measurements.rows(blocks))
        expected = [round(first + place / 100, 2) for place in range(len(CELLS))]
        if values != expected:
            yield f"upload of run {run_id}: {len(values)} of {len(expected)} numbers as sent"
    for run in Run.objects.filter(series__study__slug=STUDY).exclude(state=RunState.QUEUED):
        rows = measurements.rows(measurements.of_run(run.pk))
        count = sum(row.file_size_kb is not None for row in rows)
        changes = list(run.changes.values_list("state", flat=True))
        if run.state == RunState.DONE and count != 6 * len(CELLS):
            yield f"run {run.pk} is done with {count} of {6 * len(CELLS)} numbers"
        # The end of the measurement stops the workers, and so the runs of that moment.
        elif run.state != RunState.DONE and "The worker was stopped" not in run.reason:
            yield f"run {run.pk} ended {run.state}: {run.reason}"
        if len(changes) != len(set(changes)):
            yield f"run {run.pk} was carried out twice: {changes}"
    for lease in Lease.objects.exclude(run=None):
        yield f"run {lease.run_id} still has its LUN"


def work() -> None:
    """A worker with the tests' fake executor, which prints ten lines a second for so long."""
    import django

    django.setup()
    from runner.config import read_config
    from runner.executors.base import OnMessage, Outcome, ShouldStop
    from runner.plan import RunPlan
    from runner.service import serve
    from runner.worker import Host
    from tests.runner.fake import FakeExecutor, message, succeed

    def slowly(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        until = time.monotonic() + float(os.environ["FSBENCH_LOAD_RUN_TAKES_S"])
        while time.monotonic() < until and not should_stop():
            on_message(message("log", stream="stderr", text="a fake at work"))
            time.sleep(0.1)
        return succeed(plan, on_message, should_stop)

    sys.exit(serve(Host(read_config(), FakeExecutor(slowly), "benchmarks.load")))


if __name__ == "__main__":
    work()
