"""The processes of a site under load: what is started, what it takes, what it says."""

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

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
WEB, WORKER = "web", "load"
"""What the names of web processes and of workers begin with."""


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
        }
        self.start(name, "-m", "benchmarks.load.worker", env=env)

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
        """The processes whose names begin so: their keys by name."""
        processes = self.processes.items()
        return {name: process.pid for name, process in processes if name.startswith(f"{kind}-")}

    def used_s(self) -> dict[str, float]:
        """Seconds of a processor since its start, by kind of process, with what clients do."""
        used = {"PostgreSQL": used_by_postgres_s(), "clients": time.process_time()}
        for name, process in self.processes.items():
            kind = {"web": "web processes", "load": "workers"}.get(name.split("-")[0], name)
            used[kind] = used.get(kind, 0.0) + _used_s(process.pid)
        return used

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


def _used_s(pid: int) -> float:
    """Seconds of a processor that a process and its ended children took (proc(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def used_by_postgres_s() -> float:
    """The server and its processes: those that ended are counted as the server's children."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()[0]
    server = Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1]
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return sum(_used_s(int(pid)) for pid in [server, *children])


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
