"""Several workers on one mount, as processes: what they share, and where they can be held up."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.models import ClientState, Run, RunClient, RunState
from runner.config import WorkerConfig
from runner.safety import locks, mounts
from runner.worker import Host
from tests.crash.lab import Lab
from tests.runner.conftest import write_luns, write_run
from tests.runner.fake import FakeExecutor
from tests.services.process import Service

PATIENT = Path(__file__).with_name("patient_worker.py")
ROOT = PATIENT.parent.parent.parent
# Held back: who waits for whom is asked here, and two at full speed are both processors. Waits are
# long ones: fio spins through those that are shorter than its first short sleep was, which a busy
# machine makes some milliseconds.
JOB = "[work]\nrw=randread\nbs=4k\nsize=1m\nrate_iops=20\nruntime={}\ntime_based\n"
# Longer than in the other labs: a worker that is started again is back before.
SILENT_AFTER_S = 30
LEADER, OTHER, ABSENT = "leader", "other", "absent"


class Several:
    """``LEADER`` measures with processes, ``OTHER`` in containers; nobody serves ``ABSENT``, which
    is announced all the same. Each has mounted one tmpfs, which says that it is of a server.
    """

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.names = {role: f"{role}-{os.getpid()}" for role in (LEADER, OTHER, ABSENT)}
        self.points: dict[str, Path] = {}
        self.services: dict[str, Service] = {}
        self.absent: Host | None = None

    def start(self) -> None:
        for role in self.names:
            self._mount(role)
        lists = {role: self._list_of(role) for role in self.names}
        config = WorkerConfig(
            name=self.names[ABSENT],
            lun_file=lists[ABSENT],
            lun_file_must_exist=True,
            data_folder=self.folder / ABSENT,
            executor="auto",
            image="",
            is_privileged=False,
            site="test",
            drops_caches=False,
        )
        self.absent = Host(config, FakeExecutor())
        self.absent.start()
        for role in (LEADER, OTHER):
            self.services[role] = Service(
                [sys.executable, str(PATIENT)],
                log=self.folder / f"{role}.log",
                env=self.lab.environment
                | {
                    "FSBENCH_TEST_DATA": str(self.folder / role),
                    "FSBENCH_EXECUTOR": "local" if role == LEADER else "docker",
                    "FSBENCH_LUNS": str(lists[role]),
                    "FSBENCH_WORKER": self.names[role],
                    "FSBENCH_WORKER_SILENT_AFTER_S": str(SILENT_AFTER_S),
                    "PYTHONPATH": str(ROOT),
                },
            )
        for role in (LEADER, OTHER):
            self._wait_for_start(role, None)

    def stop(self) -> None:
        for service in self.services.values():
            service.stop()
        if self.absent is not None:
            self.absent.stop()
        for point in reversed(self.points.values()):
            subprocess.run(["umount", "--lazy", point], check=True)

    def _mount(self, role: str) -> None:
        point = self.points[role] = self.folder / role / "nas"
        point.mkdir(parents=True)
        tmpfs = ["-t", "tmpfs", "-o", "size=64m", "nas:/export"]
        argv = tmpfs if role == LEADER else ["--bind", str(self.points[LEADER])]
        subprocess.run(["mount", *argv, point], check=True)

    def _list_of(self, role: str) -> Path:
        path = self.folder / role / "luns.toml"
        lun = {"name": "nas", "kind": "mount", "path": str(self.points[role])}
        write_luns(path, lun | {"folder": f"fsbench-{role}"})
        return path

    # ---- the workers ----

    def worker(self, role: str) -> Worker:
        return Worker.objects.get(name=self.names[role])

    def kill(self, role: str) -> None:
        self.services[role].kill()

    def start_again(self, role: str) -> None:
        before = self.worker(role).started_at
        self.services[role].start()
        self._wait_for_start(role, before)

    def _wait_for_start(self, role: str, before: Any) -> None:
        rows = Worker.objects.filter(name=self.names[role])
        self.services[role].wait_until(
            lambda: rows.exclude(started_at=before).exclude(started_at=None).exists()
        )

    @contextmanager
    def stopped(self, role: str) -> Iterator[None]:
        """Inside, all of its processes stand still."""
        process = self.services[role].process
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            # One that was killed meanwhile, and its successor, get nothing.
            process.send_signal(signal.SIGCONT)

    @contextmanager
    def held_up(self, role: str) -> Iterator[None]:
        """Inside, it does not get as far as being ready: its folder is in use."""
        point = self.points[role]
        mount = mounts.mounted_at(point)
        assert mount is not None
        with locks.mount_lock(mount.number, f"{point}/fsbench-{role}"):
            yield

    # ---- runs ----

    def submit(self, runtime_s: int, *others: str) -> Run:
        if ABSENT in others and self.absent is not None:
            announce(self.absent.announcement(has_started=True))
        machine = Machine(clients=tuple((self.names[role], "nas") for role in others or (OTHER,)))
        work = {"name": "work", "version": 1, "space_mb": 8, "time_limit_s": 900}
        return write_run(
            self.worker(LEADER),
            "tmpfs",
            lun="nas",
            machine=machine,
            tool="own-fio",
            parameters=work | {"text": JOB.format(runtime_s)},
        )

    def wait_for(self, run: Run, state: RunState) -> None:
        self.wait_until(run, lambda: run.state == state)

    def wait_for_client(self, run: Run, role: str, state: ClientState) -> None:
        rows = RunClient.objects.filter(run=run, worker=self.names[role], state=state)
        self.wait_until(run, lambda: not run.has_ended and rows.exists())

    def wait_until(self, run: Run, is_so: Callable[[], bool]) -> None:
        def is_there() -> bool:
            run.refresh_from_db()
            return is_so()

        try:
            self.lab.wait_until(is_there, timeout_s=240)
        except AssertionError as error:
            rows = list(RunClient.objects.filter(run=run).values("worker", "state", "reason"))
            logs = [service.tail() for service in self.services.values()]
            raise AssertionError("\n".join([str(error), str(rows), *logs])) from None

    # ---- what is there ----

    def at_work(self) -> list[str]:
        """Processes that have a file on the mount open: a benchmark's, wherever it runs."""
        device = self.points[LEADER].stat().st_dev
        commands = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                files = list((process / "fd").iterdir())
                if any(_device(file) == device for file in files):
                    commands.append((process / "cmdline").read_text().replace("\0", " "))
        return commands

    def containers(self) -> list[str]:
        return self.lab.docker(
            "ps", "--all", "--quiet", "--filter", f"label=fsbench.worker={self.names[OTHER]}"
        )


def _device(file: Path) -> int | None:
    with suppress(OSError):
        return file.stat().st_dev
    return None
