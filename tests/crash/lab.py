"""A whole installation to be broken: PostgreSQL, Redis, dockerd, a worker, one LUN.

All of it is real. Three tools of the image are wrapped, so that a phase can be hit for certain: the
wrapper does the real work and then waits when an option of the run asks for it (``PAUSES``). Where
a moment lies between two writes of the worker, a trigger in PostgreSQL makes it wait (``gate``).
"""

import io
import os
import secrets
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import psycopg
from django.db import connection
from django.utils import timezone
from kombu import Connection

from fsbench_web.catalog.models import Worker
from fsbench_web.celery import app
from fsbench_web.studies.models import Job, Run, RunState
from tests.runner.conftest import SMALL, write_run
from tests.services.dockerd import Dockerd
from tests.services.postgres import Postgres
from tests.services.process import Service, holds
from tests.services.redis import Redis, accepts, free_port

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
IMAGE = "fsbench-runner:paused"
SILENT_AFTER_S = 8
# Which option of a run makes which tool wait, how long, and whether after its work or before.
PAUSES = {
    "mkfs.ext4": ("-I 512", 60, "after"),
    "mount": ("noatime", 60, "after"),
    "iozone": ("-q 16k", 4, "before"),
}
IN_MKFS = {"options": {"inode_size": "512"}}
IN_MOUNT = {"options": {"atime": "noatime"}}
FOR_SECONDS = {"parameters": SMALL | {"maximum_record_kb": 16}}
FOR_MINUTES = {"parameters": SMALL | {"maximum_file_kb": 131072, "direct_io": True}}
_GATE = 4711


class Lab:
    """Everything a test breaks; the worker and the services are started again by whoever did."""

    def __init__(
        self, folder: Path, postgres: Postgres, redis: Redis, dockerd: Dockerd, image: str
    ) -> None:
        self.folder, self.postgres, self.redis, self.dockerd = folder, postgres, redis, dockerd
        self.lun_file, self.disk = folder / "luns.toml", folder / "disk.img"
        self.lun_file.write_text(
            f'[[lun]]\nname = "disk"\nkind = "sparse-file"\npath = "{self.disk}"\n'
            'size = "400 MiB"\n'
        )
        self.lun_file.chmod(0o600)
        self.name = f"crash-{os.getpid()}"
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "FSBENCH_TEST_DATA": str(folder / "data"),
            "DATABASE_URL": postgres.url,
            "CELERY_BROKER_URL": redis.url,
            "DOCKER_HOST": dockerd.host,
            "FSBENCH_EXECUTOR": "docker",
            "FSBENCH_IMAGE": image,
            "FSBENCH_LUNS": str(self.lun_file),
            "FSBENCH_WORKER": self.name,
            "FSBENCH_WORKER_HEARTBEAT_S": "1",
            "FSBENCH_WORKER_SILENT_AFTER_S": str(SILENT_AFTER_S),
        }
        self.worker: Service | None = None

    # ---- the worker ----

    def start_worker(self) -> None:
        """Start it and wait until it takes runs."""
        before = Worker.objects.filter(name=self.name).values_list("started_at", flat=True).first()
        if self.worker is None:
            self.worker = Service(
                [sys.executable, str(MANAGE), "worker"],
                log=self.folder / "worker.log",
                env=self.environment,
            )
        else:
            self.worker.start()
        self.wait_until(
            lambda: Worker.objects.filter(name=self.name).exclude(started_at=before).exists()
        )

    def kill_worker(self) -> None:
        assert self.worker is not None
        self.worker.kill()

    @property
    def worker_pid(self) -> int:
        assert self.worker is not None
        assert self.worker.process.poll() is None, self.worker.tail()
        return self.worker.process.pid

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = 120) -> None:
        """Wait while the worker is up (when it is down: in any case)."""
        deadline = time.monotonic() + timeout_s
        was_up = self.worker is not None and self.worker.process.poll() is None
        while not holds(condition):
            log = self.worker.tail() if self.worker else ""
            assert not was_up or (self.worker and self.worker.process.poll() is None), log
            assert time.monotonic() < deadline, f"{log}\n{self.states()}"

    # ---- runs ----

    def submit(self, **changes: Any) -> Run:
        """A queued run. The worker finds it by itself within a second or two."""
        return write_run(Worker.objects.get(name=self.name), lun="disk", **changes)

    def job(self, **changes: Any) -> tuple[Job, Run]:
        """A run that is a job's; it waits until the job is resumed."""
        job = Job.objects.create(token=secrets.token_hex(8), paused_at=timezone.now())
        return job, self.submit(job=job, **changes)

    def resume(self, job: Job) -> None:
        Job.objects.filter(pk=job.pk).update(paused_at=None)

    def send(self, run: Run, times: int = 1) -> None:
        """Messages for a run, as the web sends them."""
        with Connection(self.redis.url) as broker:
            for _ in range(times):
                app.send_task(
                    "runner.execute", args=[run.pk], queue=f"host.{self.name}", connection=broker
                )

    def wait_for(self, run: Run, state: RunState, phase: str = "", timeout_s: float = 120) -> None:
        """Until the run is in this state, and its worker in this phase."""

        def is_there() -> bool:
            run.refresh_from_db()
            assert not run.has_ended or run.state == state, f"{run.state}: {run.reason}"
            return run.state == state and (not phase or run.phase == phase)

        self.wait_until(is_there, timeout_s)

    def states(self) -> list[tuple[int, str, str, str]]:
        return list(Run.objects.order_by("id").values_list("id", "state", "phase", "reason"))

    # ---- what is there ----

    def losetup(self) -> list[str]:
        listed = subprocess.run(
            ["losetup", "--noheadings", "--output", "NAME", "-j", str(self.disk)],
            capture_output=True,
            text=True,
            check=True,
        )
        return listed.stdout.split()

    def docker(self, *arguments: str) -> list[str]:
        """Lines that `docker` prints."""
        done = subprocess.run(
            ["docker", "-H", self.dockerd.host, *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    def containers(self) -> list[str]:
        return self.docker("ps", "--all", "--quiet", "--filter", "label=fsbench.run")

    def agents(self) -> list[str]:
        """Processes that live in a container of the lab's daemon, however they got there."""
        commands = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                # Other tests mount what has names in no encoding.
                mounts = (process / "mountinfo").read_text(errors="replace").splitlines()
                root = next((line for line in mounts if line.split()[4] == "/"), "")
                if str(self.dockerd.folder) in root:
                    commands.append((process / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        return commands

    # ---- breaking things ----

    @contextmanager
    def gate(self, state: RunState) -> Iterator[None]:
        """Inside, no run gets into this state: whoever tries waits in its transaction."""
        with psycopg.connect(self.postgres.url, autocommit=True) as holder:
            holder.execute("SELECT pg_advisory_lock(%s)", [_GATE])
            holder.execute("INSERT INTO gate VALUES (%s)", [state.value])
            yield
            if self.postgres.process.poll() is None:
                holder.execute("DELETE FROM gate")
                holder.execute("SELECT pg_advisory_unlock(%s)", [_GATE])

    def stop_postgres(self) -> None:
        """As `pg_ctl stop -m immediate`."""
        self.postgres.stop_immediately()
        connection.close()

    def start_postgres(self) -> None:
        """Start it again; no gate is closed then."""
        self.postgres.start()
        self.postgres.wait_until_ready()
        with psycopg.connect(self.postgres.url, autocommit=True) as fresh:
            fresh.execute("DELETE FROM gate")

    def web(self) -> tuple[Service, str]:
        """uvicorn on the lab's database, and its address."""
        port = free_port()
        service = Service(
            [
                *(sys.executable, "-m", "uvicorn", "fsbench_web.serving.asgi:application"),
                *("--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"),
            ],
            log=self.folder / "web.log",
            env=self.environment,
        )
        service.wait_until(lambda: accepts(port))
        return service, f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        if self.worker is not None and self.worker.process.poll() is None:
            self.worker.process.send_signal(signal.SIGTERM)
            self.worker.stop(30)
        for device in self.losetup():
            subprocess.run(["losetup", "--detach", device], check=False)


def install_gate() -> None:
    """The trigger behind ``Lab.gate``."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            CREATE TABLE gate (state text);
            CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF EXISTS (SELECT FROM gate WHERE state = NEW.state) THEN
                    PERFORM pg_advisory_xact_lock_shared({_GATE});
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER gate BEFORE UPDATE OF state ON studies_run
                FOR EACH ROW EXECUTE FUNCTION wait_at_gate();
            """
        )


def build_image(host: str, base: str) -> str:
    """The benchmark image with the wrappers of ``PAUSES``."""
    files = {"Dockerfile": f"FROM {base}\nCOPY --chown=root bin/ /usr/local/sbin/\n"}
    for tool, (option, seconds, when) in PAUSES.items():
        wait = f'case " $* " in *"{option}"*) sleep {seconds} ;; esac'
        work = f'{wait}\nexec {tool} "$@"' if when == "before" else f'{tool} "$@" || exit\n{wait}'
        files[f"bin/{tool}"] = f"#!/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n{work}\n"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    buffer.seek(0)
    client = docker.DockerClient(base_url=host)
    client.images.build(fileobj=buffer, custom_context=True, tag=IMAGE)
    client.close()
    return IMAGE
