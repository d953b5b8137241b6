"""A real worker with LUNs that share a controller or a journal: one run at a time on each."""

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.studies.models import Lease, Run, RunState
from fsbench_web.studies.runs import nudges
from tests.runner.conftest import sparse_lun, tool, write_luns, write_run
from tests.runner.test_worker import WorkerProcess, state_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.root]

HBA = "HBA 1"
ENDED = {RunState.DONE, RunState.FAILED, RunState.LOST, RunState.CANCELLED}


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    path = tmp_path / "luns.toml"

    def lun(name: str, **more: str) -> dict[str, str]:
        return sparse_lun(tmp_path / f"{name}.img", name=name, **({"size": "64 MiB"} | more))

    write_luns(
        path,
        *(lun("one", controller=HBA), lun("two", controller=HBA), lun("three")),
        lun("log", role="journal", size="16 MiB"),
    )
    return path


@pytest.fixture
def worker(lun_file: Path, tmp_path: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(lun_file, tmp_path / "worker.log").start()
    yield worker
    if worker.process is not None and worker.process.poll() is None:
        worker.send(signal.SIGTERM)
    for image in tmp_path.glob("*.img"):
        for line in tool("losetup", "--noheadings", "-O", "NAME", "-j", str(image)).split():
            tool("losetup", "--detach", line)


def run_all(worker: WorkerProcess, pairs: list[tuple[str, str]]) -> list[Run]:
    """Write a run on (LUN, journal) each, nudge as the web does, and wait for the end of all."""
    row = Worker.objects.get(name=worker.name)
    runs = [write_run(row, "ext3", lun=lun, journal=journal) for lun, journal in pairs]
    for run in runs:
        nudges.nudge(run)
    worker.wait_until(lambda: all(state_of(run) in ENDED for run in runs), 120)
    for run in runs:
        run.refresh_from_db()
        assert run.state == RunState.DONE, (run.reason, worker.log.read_text())
        assert run.changes.filter(state=RunState.LEASED).count() == 1
    assert not Lease.objects.exclude(run=None).exists()
    return runs


def overlap(run: Run, other: Run) -> bool:
    assert run.started_at
    assert run.ended_at
    assert other.started_at
    assert other.ended_at
    return run.started_at < other.ended_at and other.started_at < run.ended_at


def test_what_is_shared_is_used_by_one_run_at_a_time(worker: WorkerProcess) -> None:
    assert Lun.objects.get(name="two").controller == HBA
    pairs = [("one", ""), ("two", ""), ("one", "log"), ("three", "log"), ("two", "log")]
    runs = run_all(worker, pairs)
    for (run, submitted), (other, another) in itertools.combinations(
        zip(runs, pairs, strict=True), 2
    ):
        shares_controller = {submitted[0], another[0]} <= {"one", "two"}
        shares_journal = submitted[1] == another[1] == "log"
        if shares_controller or shares_journal:
            assert not overlap(run, other), (submitted, another)
    # Each LUN kept its order, and the controller went round: not all of one LUN first.
    assert runs[0].started_at < runs[2].started_at  # type: ignore[operator]
    assert runs[1].started_at < runs[2].started_at  # type: ignore[operator]


def test_a_run_that_needs_neither_does_not_wait(worker: WorkerProcess) -> None:
    """The LUN without a controller is measured while the others take turns."""
    turns = [("one", ""), ("two", "")] * 3
    runs = run_all(worker, [*turns, ("three", "")])
    free, others = runs[-1], runs[:-1]
    assert free.started_at is not None
    # Submitted last, and yet not the last to begin.
    assert sum(other.started_at > free.started_at for other in others if other.started_at) >= 3
