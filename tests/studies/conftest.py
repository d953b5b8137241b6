"""A lab: one worker with LUNs, and runs in any state, made through the life cycle alone."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, WorkerAnnouncement, announce
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.workloads import presets
from fsbench_web.core.workloads.iozone import TESTS
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.runs.leases import LeaseWatch
from fsbench_web.studies.scores import ingest

GB = 1024**3
USABLE = {"usable": True, "reason": ""}
NO_BTRFS = "The kernel 6.1.0 cannot mount Btrfs: load its module, or choose another file system."


def worker_announcement(**changes: Any) -> WorkerAnnouncement:
    values: dict[str, Any] = {
        "name": "lab1",
        "executor": "fake",
        "capabilities": {
            "filesystems": {
                **dict.fromkeys(("ext2", "ext3", "ext4", "xfs"), USABLE),
                "btrfs": {"usable": False, "reason": NO_BTRFS},
            },
            "tools": {"iozone": {"usable": True, "version": "3.489", "package": "iozone3"}},
            "kernel": "6.1.0",
            "distribution": "Debian GNU/Linux 12",
        },
        "luns": [
            LunAnnouncement(
                "disk1",
                "data",
                "device",
                "/dev/disk/by-id/disk1",
                20 * GB,
                [["Model", "WDC <b>800</b>"], ["Serial", "WD-123"]],
                ["none", "mq-deadline", "bfq"],
            ),
            LunAnnouncement(
                "small1", "data", "sparse-file", "/dev/loop7", 64 * 2**20, [], ["none"]
            ),
            LunAnnouncement("log1", "journal", "device", "/dev/sdq", 8 * GB, [], ["none"]),
            LunAnnouncement(
                "mounted1", "data", "device", "/dev/sdz", 8 * GB, [], ["none"], "It is mounted."
            ),
            LunAnnouncement(
                "folder1", "data", "directory", "/srv/bench", 9 * GB, [["File system", "ext4"]]
            ),
        ],
        "hardware": [["CPU", "2 × EPYC"]],
        "has_started": True,
    }
    return WorkerAnnouncement(**(values | changes))


def after_silence(seconds: float | None = None) -> LeaseWatch:
    """What a process sees that looked at all leases, and looks again after a silent time."""
    ticks = [0.0]
    watch = LeaseWatch(lambda: ticks[0])
    assert watch.over() == {}
    ticks[0] = settings.WORKER_SILENT_AFTER_S + 1 if seconds is None else seconds
    return watch


@pytest.fixture
def worker(db: None) -> Worker:
    return announce(worker_announcement())


@pytest.fixture
def disk(worker: Worker) -> Lun:
    return worker.luns.get(name="disk1")


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password="correct horse")


@pytest.fixture
def spec(disk: Lun) -> Callable[..., JobSpec]:
    """A job that is fine as it is; keywords change it."""

    def make(**changes: Any) -> JobSpec:
        values: dict[str, Any] = {
            "lun_id": disk.pk,
            "configurations": (
                ConfigurationSpec("ext4", {"journal_mode": "writeback"}, "none"),
                ConfigurationSpec("xfs", {}, "none"),
            ),
            "workload": "iozone-small",
            "repeats": 2,
            "new_study": "First look",
        }
        return JobSpec(**(values | changes))

    return make


@pytest.fixture
def runs(spec: Callable[..., JobSpec], ann: User) -> list[Run]:
    """Four queued runs: ext4_wb_none, xfs_none, and both again."""
    return submit(spec(), "disk1", ann)


def start(run: Run, log: tuple[tuple[str, str], ...] = ()) -> lifecycle.LeaseHandle:
    """Claim a run and bring it to running."""
    assert run.series.lun is not None
    handle = lifecycle.claim(run.pk, run.series.lun.worker)
    assert handle is not None
    lifecycle.advance(handle, RunState.PREPARING)
    lifecycle.advance(handle, RunState.RUNNING)
    now: datetime = timezone.now()
    lifecycle.append_log(handle, [(now, stream, text) for stream, text in log])
    return handle


def complete(run: Run, value: float = 1000.0) -> None:
    """Run a queued run to its end; every cell of the matrix is ``value``."""
    handle = start(run)
    lifecycle.record_commands(
        handle,
        [{"phase": "mkfs", "argv": ["mkfs.ext4", "a b"], "exit_code": 0, "duration_s": 1.5}],
    )
    lifecycle.advance(handle, RunState.COLLECTING)
    cells = [
        (test, *cell) for test in TESTS for cell in presets()["iozone-small"].workload().cells()
    ]
    values = [
        ParsedValue(test, record, file, value, "KB/s", line)
        for line, (test, record, file) in enumerate(cells, start=1)
    ]
    with transaction.atomic():
        artefact = ingest.store_artefact(run, "iozone.txt", b"raw output")
        ingest.store_values(run, artefact, values)
        lifecycle.finish(handle, RunState.DONE, "")
        ingest.rescore(run.series)
