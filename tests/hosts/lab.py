"""Three worker hosts, one shared PostgreSQL and one shared Redis, and a web process beside them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsbench_web.catalog.models import Worker
from fsbench_web.studies.models import Run, RunState
from tests.hosts.network import Network
from tests.hosts.secured import SecuredPostgres, SecuredRedis
from tests.runner.conftest import write_run
from tests.services.process import Service, holds
from tests.services.redis import accepts, free_port

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
SKEWED = Path(__file__).resolve().parent / "skewed"
SILENT_AFTER_S = 10
HOUR_S = 3600
# The clock of each host, in seconds that it is ahead.
CLOCKS_S = (0, HOUR_S, -HOUR_S)


class Hosts:
    """``workers`` and ``names`` by host."""

    def __init__(
        self, folder: Path, network: Network, postgres: SecuredPostgres, redis: SecuredRedis
    ) -> None:
        self.folder, self.network, self.postgres, self.redis = folder, network, postgres, redis
        self.names = [f"host-{os.getpid()}-{index}" for index in range(len(network.hosts))]
        self.shared = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": postgres.shared_url,
            "CELERY_BROKER_URL": redis.shared_url,
            "FSBENCH_EXECUTOR": "local",
            "FSBENCH_LOG_FORMAT": "json",
            "FSBENCH_METRICS_TOKEN": "the-scraper-of-the-tests",
            "FSBENCH_WORKER_HEARTBEAT_S": "1",
            "FSBENCH_WORKER_SILENT_AFTER_S": str(SILENT_AFTER_S),
        }
        self.workers: list[Service] = []

    def start_worker(self, index: int) -> None:
        folder = self.folder / self.names[index]
        (folder / "data").mkdir(parents=True)
        luns = folder / "luns.toml"
        luns.write_text(
            f'[[lun]]\nname = "disk"\nkind = "sparse-file"\npath = "{folder}/disk.img"\n'
            'size = "400 MiB"\n'
        )
        luns.chmod(0o600)
        self.workers.append(
            Service(
                [*self.network.on(index), sys.executable, str(MANAGE), "worker"],
                log=folder / "log",
                env=self.shared
                | {
                    "FSBENCH_TEST_DATA": str(folder / "data"),
                    "FSBENCH_LUNS": str(luns),
                    "FSBENCH_WORKER": self.names[index],
                    "FSBENCH_TEST_SKEW_S": str(CLOCKS_S[index]),
                    "PYTHONPATH": str(SKEWED),
                },
            )
        )

    def wait_for_workers(self, timeout_s: float = 120) -> None:
        """Until all are there. A worker whose first connection took longer than the few seconds
        that it allows (SILENT_AFTER_S / 3) is started again, as a service manager would.
        """
        deadline = time.monotonic() + timeout_s
        while Worker.objects.filter(name__in=self.names).count() < len(self.names):
            assert time.monotonic() < deadline, self.logs_and_states()
            for worker in self.workers:
                if worker.process.poll() is not None and "connection timeout" in worker.tail():
                    worker.log.write_text("")
                    worker.start()
                assert worker.process.poll() is None, worker.tail()
            time.sleep(0.1)

    def worker(self, index: int) -> Worker:
        return Worker.objects.get(name=self.names[index])

    def submit(self, index: int, **changes: Any) -> Run:
        return write_run(self.worker(index), lun="disk", **changes)

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = 120) -> float:
        """Seconds that it took. Fails with what the workers printed."""
        began = time.monotonic()
        while not holds(condition):
            for worker in self.workers:
                assert worker.process.poll() is None, worker.tail()
            assert time.monotonic() - began < timeout_s, self.logs_and_states()
        return time.monotonic() - began

    def wait_for(self, run: Run, state: RunState, timeout_s: float = 120) -> float:
        def is_there() -> bool:
            run.refresh_from_db()
            assert not run.has_ended or run.state == state, (
                f"{run.reason}\n{self.logs_and_states()}"
            )
            return run.state == state

        return self.wait_until(is_there, timeout_s)

    def logs_and_states(self) -> str:
        states = Run.objects.order_by("id").values_list("id", "state", "phase", "reason")
        return "\n".join([*(worker.tail(8) for worker in self.workers), str(list(states))])

    def at_work(self, index: int) -> list[str]:
        """The processes that a worker started, in whatever namespaces: agents and benchmarks."""
        parents: dict[int, int] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parents[int(folder.name)] = int(
                    (folder / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except (OSError, ValueError):
                continue
        commands, above = [], {self.workers[index].process.pid}
        while above:
            above = {pid for pid, parent in parents.items() if parent in above}
            for pid in above:
                try:
                    commands.append((Path("/proc") / str(pid) / "cmdline").read_text())
                except OSError:
                    continue
        return commands

    def web(self) -> tuple[Service, str]:
        """uvicorn beside the bridge, on the shared services, and its address."""
        port = free_port()
        service = Service(
            [
                *(sys.executable, "-m", "uvicorn", "fsbench_web.serving.asgi:application"),
                *("--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"),
            ],
            log=self.folder / "web.log",
            env=self.shared | {"FSBENCH_TEST_DATA": str(self.folder / "web")},
        )
        service.wait_until(lambda: accepts(port))
        return service, f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        for index in range(len(self.workers)):
            self.network.heal(index)
        for worker in self.workers:
            worker.stop(30)
        for name in self.names:
            disk = str(self.folder / name / "disk.img")
            listed = subprocess.run(
                ["losetup", "--noheadings", "--output", "NAME", "-j", disk],
                capture_output=True,
                text=True,
            )
            for device in listed.stdout.split():
                subprocess.run(["losetup", "--detach", device], check=False)
