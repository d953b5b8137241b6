"""LUNs on sparse files, hosts and jobs for the runner's tests."""

import copy
import errno
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from fsbench_web.catalog.configurations.layers import Layer
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.configurations.stacks import LunCounts
from fsbench_web.catalog.models import Lun, Worker, Workload
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workers.machines import OWN_MACHINE, Machine
from fsbench_web.studies.models import Job, Run, Study
from fsbench_web.studies.runs import new_runs
from fsbench_web.studies.series import next_repeat, series_for
from runner.config import WorkerConfig
from runner.execution import execute, places
from runner.executors.base import Executor
from runner.guests.executor import GuestExecutor
from runner.safety import sparse
from runner.worker import Host
from tests.runner.fake import FakeExecutor

SMALL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 8,
    "minimum_file_kb": 64,
    "maximum_file_kb": 128,
}
# Minutes of work, for runs that are to be interrupted.
LONG = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 4096,
    "minimum_file_kb": 16384,
    "maximum_file_kb": 131072,
    "direct_io": True,
    "include_flush": True,
}
MIB = 2**20


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A LUN that is in use stays so in these tests: do not wait for it."""
    monkeypatch.setattr(places, "SETTLE_S", 0.5)
    monkeypatch.setattr(sparse, "DETACH_S", 1.0)


@pytest.fixture
def lun_file(tmp_path: Path) -> Path:
    """An allow-list with the sparse file ``scratch`` of 400 MiB."""
    path = tmp_path / "luns.toml"
    write_luns(path, sparse_lun(tmp_path / "scratch.img"))
    return path


def sparse_lun(path: Path, **changes: Any) -> dict[str, Any]:
    lun = {"name": "scratch", "kind": "sparse-file", "path": str(path), "size": "400 MiB"}
    return lun | changes


def write_luns(path: Path, *luns: dict[str, Any]) -> None:
    lines = []
    for lun in luns:
        lines.append("[[lun]]")
        for key, value in lun.items():
            literal = str(value).lower() if isinstance(value, bool) else f'"{value}"'
            lines.append(f"{key} = {literal}")
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)


_ENVIRONMENTS: dict[tuple[type[Executor], str], Any] = {}


def start(host: Host) -> None:
    """Start it with what the first host of this process found where it works.

    Asking each of sixty programs for its version is half a second of a processor, and in a
    container a second. What a host finds is for tests of its executors and of workers.
    """
    executor = host.executor
    look = getattr(executor, "_environment", None)
    if look is None:
        host.start()
        return
    place = type(executor), getattr(executor, "image", "")

    def known() -> Any:
        if place not in _ENVIRONMENTS:
            _ENVIRONMENTS[place] = look()
        return copy.deepcopy(_ENVIRONMENTS[place])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "_environment", known)
        if place in _ENVIRONMENTS:  # a Docker daemon of this process, which is none of another host
            patch.setattr(executor, "remote_daemon_problem", str, raising=False)
            patch.setattr(executor, "rights_problem", str, raising=False)
        host.start()


@pytest.fixture
def make_host(lun_file: Path, tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """``make_host(executor)`` starts a host; its loop devices are detached in the end."""
    hosts = []

    def make(
        executor: Executor | None = None,
        name: str = "host-one",
        guests: GuestExecutor | None = None,
        drops_caches: bool = False,
    ) -> Host:
        config = WorkerConfig(
            name=name,
            lun_file=lun_file,
            lun_file_must_exist=True,
            data_folder=tmp_path,
            executor="auto",
            image="",
            is_privileged=False,
            site="test",
            drops_caches=drops_caches,
        )
        host = Host(config, executor or FakeExecutor(), guests=guests)
        hosts.append(host)
        start(host)
        return host

    yield make
    for host in hosts:
        host.stop()


def write_run(
    worker: Worker,
    filesystem: str = "ext4",
    *,
    lun: str = "scratch",
    parameters: dict[str, Any] | None = None,
    options: dict[str, str] | None = None,
    journal: str = "",
    members: Sequence[tuple[str, str]] = (),
    layers: tuple[Layer, ...] = (),
    tool: str = "iozone",
    machine: Machine = OWN_MACHINE,
    kernel: str = "",
    job: Job | None = None,
    **configuration: Any,
) -> Run:
    """A queued run on a LUN of the worker."""
    workload, _ = Workload.objects.get_or_create(
        slug=f"test-{hash(tool + str(parameters)) % 10**6}",
        defaults={"title": "Test", "tool": tool, "parameters": parameters or SMALL},
    )
    study, _ = Study.objects.get_or_create(slug="tests", defaults={"title": "Tests"})
    series = series_for(
        study,
        configuration_for(
            filesystem,
            options or {},
            external_journal=bool(journal),
            shape=LunCounts.of_roles((role for role, _ in members), layers),
            **configuration,
        ),
        workload=workload,
        hardware=worker.hardware,
        lun=Lun.objects.get(worker=worker, name=lun),
        journal_lun=Lun.objects.get(worker=worker, name=journal) if journal else None,
        members=[(role, Lun.objects.get(worker=worker, name=name)) for role, name in members],
        machine=machine.stored(),
        kernel=kernel or worker.capabilities["kernel"],
        distribution=worker.capabilities["distribution"],
    )
    with transaction.atomic():
        return new_runs.create_queued(series, next_repeat(series), by=None, job=job)


@pytest.fixture
def submitted(db: None) -> Callable[..., Run]:
    """``job(host, "ext4")`` announces the host and writes a queued run on its LUN."""

    def announce_and_write(host: Host, *arguments: Any, **changes: Any) -> Run:
        return write_run(announce(host.announcement(has_started=True)), *arguments, **changes)

    return announce_and_write


@pytest.fixture
def carry_out() -> Callable[[Run, Host], Run]:
    """Execute what waits for the run's LUN, and give the run as it is then."""

    def work(run: Run, host: Host) -> Run:
        execute.work_on(run.pk, host)
        run.refresh_from_db()
        return run

    return work


def tool(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def written_on(host: Host, name: str) -> str:
    """A digest of every byte of a sparse LUN that is not zero, and of where it is.

    Read from the file, which knows where nothing was ever written: that is most of it.
    """
    entry = host.entry(name)
    with Path(host.device(entry)).open("rb") as device:
        os.fsync(device.fileno())
    digest = hashlib.sha256()
    with entry.path.open("rb", buffering=0) as file:
        place = _next_data(file.fileno(), 0)
        while place is not None:
            block = os.pread(file.fileno(), _BLOCK, place)
            if block.strip(b"\0"):
                digest.update(place.to_bytes(8) + block)
            place = _next_data(file.fileno(), place + _BLOCK)
    return digest.hexdigest()


_BLOCK = 64 * 1024


def _next_data(descriptor: int, place: int) -> int | None:
    """The next block that something of was written to (lseek(2), SEEK_DATA)."""
    try:
        return os.lseek(descriptor, place, os.SEEK_DATA) // _BLOCK * _BLOCK
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise


@pytest.fixture
def odd_mounts(tmp_path: Path) -> Iterator[None]:
    """A mount whose point is no UTF-8 and has another line's end, and one of an empty source."""
    points = [tmp_path / os.fsdecode(name) for name in (b"Z\xfcrich\xe2\x80\xa8", b"empty")]
    for point, source in zip(points, ("odd", ""), strict=True):
        point.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", source, point], check=True)
    yield
    for point in points:
        subprocess.run(["umount", point], check=True)


@pytest.fixture
def other_loop(tmp_path: Path) -> Iterator[str]:
    """A loop device that is in no list of LUNs."""
    path = tmp_path / "other.img"
    path.touch()
    with path.open("r+b") as file:
        file.truncate(64 * MIB)
    device = tool("losetup", "--find", "--show", str(path))
    yield device
    tool("losetup", "--detach", device)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs whose plan was begun: from there on the disk is written to."""
    runs: list[int] = []
    run = FakeExecutor.run

    def noted(self: FakeExecutor, plan: Any, target: Any, *rest: Any) -> Any:
        runs.append(target.run_id)
        return run(self, plan, target, *rest)

    monkeypatch.setattr(FakeExecutor, "run", noted)
    return runs
