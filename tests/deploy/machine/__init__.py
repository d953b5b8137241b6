"""A Debian machine with systemd as its first process, in a container of the tests' daemon.

It has PostgreSQL, Redis, web and worker, set up word for word as docs/deployment.md says.
"""

import io
import os
import secrets
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.compose import Person, first_sign_in
from tests.services.image import ROOT
from tests.services.process import ServiceFailed
from tests.services.redis import free_port

IMAGE = "fsbench-machine"
NAME = f"machine-{os.getpid()}"
PARTS = ("manage.py", "fsbench_web", "runner", "templates", "static", "deploy", "docs")
LUN = """
[[lun]]
name = "scratch"
kind = "sparse-file"
path = "/srv/scratch.img"
size = "400 MiB"
"""
# Another port than 8000, and open to the network of the container: as docs/deployment.md says.
PORT = "[Socket]\nListenStream=\nListenStream=0.0.0.0:8000\n"


class Machine:
    """``run("systemctl", "restart", "fsbench-web")`` is typed by root on it."""

    def __init__(self, docker_host: str) -> None:
        self.environment = os.environ | {"DOCKER_HOST": docker_host}
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.subnet = f"10.212.{os.getpid() % 200}.0/24"

    def docker(self, *argv: str, stdin: bytes = b"") -> str:
        """What it printed. Raises ServiceFailed."""
        done = subprocess.run(
            ["docker", *argv], env=self.environment, capture_output=True, input=stdin, timeout=600
        )
        if done.returncode:
            output = (done.stdout + done.stderr).decode(errors="replace")
            raise ServiceFailed(f"docker {' '.join(argv)}: {output}")
        return done.stdout.decode(errors="replace")

    def run(self, *argv: str, stdin: str = "") -> str:
        return self.docker("exec", "-i", NAME, *argv, stdin=stdin.encode())

    def try_run(self, *argv: str) -> str:
        """The same, whether or not it succeeds: `systemctl is-active` fails to say *inactive*."""
        done = subprocess.run(
            ["docker", "exec", NAME, *argv], env=self.environment, capture_output=True, text=True
        )
        return done.stdout.strip()

    def property(self, unit: str, name: str) -> str:
        return self.try_run("systemctl", "show", "--value", "--property", name, unit)

    def boot(self) -> None:
        self.docker("network", "create", "--subnet", self.subnet, NAME)
        rights = ("IPC_LOCK", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE", "SYS_PTRACE", "SYS_RAWIO")
        self.docker(
            *("run", "--detach", "--name", NAME, "--hostname", NAME, "--network", NAME),
            *("--publish", f"127.0.0.1:{self.port}:8000", "--cgroupns", "private"),
            *("--tmpfs", "/run", "--tmpfs", "/run/lock"),
            # Not privileged, which some kernels refuse.
            *(word for right in rights for word in ("--cap-add", right)),
            *("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"),
            *("--device-cgroup-rule", "b *:* rwm", "--device-cgroup-rule", "c *:* rwm"),
            IMAGE,
        )
        self.wait_until(self.has_booted)

    def boot_again(self) -> None:
        """As after a loss of power: what is mounted on /run is empty, no unit was stopped."""
        self.docker("restart", "--time", "60", NAME)
        self.wait_until(self.has_booted)

    def has_booted(self) -> bool:
        return self.try_run("systemctl", "is-system-running") in ("running", "degraded")

    def install(self) -> None:
        """PostgreSQL and Redis with passwords; then fsbench, as docs/deployment.md says."""
        words = {name: secrets.token_hex(32) for name in ("key", "database", "broker")}
        self.run(
            *("runuser", "-u", "postgres", "--", "psql", "--quiet"),
            stdin=f"CREATE USER fsbench PASSWORD '{words['database']}';\n"
            "CREATE DATABASE fsbench OWNER fsbench;\n",
        )
        self.run("tee", "-a", "/etc/redis/redis.conf", stdin=f"requirepass {words['broker']}\n")
        self.run("systemctl", "restart", "redis-server")
        self.docker("cp", "-", f"{NAME}:/opt/fsbench", stdin=_checkout())
        python = "/opt/fsbench/.venv/bin/python"
        folders = ("/opt/fsbench/fsbench_web", "/opt/fsbench/runner")
        self.run("env", "PYTHONDONTWRITEBYTECODE=", python, "-m", "compileall", "-q", *folders)
        self.run("install", "-d", "-m", "700", "/etc/fsbench")
        settings = {
            "FSBENCH_ENV": "production",
            "FSBENCH_HTTPS": "False",
            "FSBENCH_SECRET_KEY": words["key"],
            "DATABASE_URL": f"postgresql://fsbench:{words['database']}@127.0.0.1:5432/fsbench",
            "CELERY_BROKER_URL": f"redis://:{words['broker']}@127.0.0.1:6379/0",
            "FSBENCH_WORKER": "host-a",
            "FSBENCH_WEB_PROCESSES": "2",
        }
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        self.run("sh", "-c", "umask 077; cat >/etc/fsbench/environment", stdin=lines)
        self.run("useradd", "--system", "--home-dir", "/var/lib/fsbench-web", "fsbench")
        self.run("sh", "-c", "cp /opt/fsbench/deploy/systemd/* /etc/systemd/system/")
        self.run("install", "-d", "/etc/systemd/system/fsbench-web.socket.d")
        self.run("tee", "/etc/systemd/system/fsbench-web.socket.d/override.conf", stdin=PORT)
        self.run("install", "-d", "-m", "700", "/var/lib/fsbench")
        self.run("sh", "-c", "umask 077; cat >/var/lib/fsbench/luns.toml", stdin=LUN)
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "enable", "--now", "fsbench-web.socket", "fsbench-web")
        self.run("systemctl", "enable", "--now", "fsbench-worker")
        self.wait_until(self.is_healthy)

    def is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/api/v1/health", timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = 600) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise ServiceFailed(
                    self.try_run("systemctl", "--no-pager", "--failed", "status", "fsbench-*")
                    + self.journal("--lines", "60")
                )
            time.sleep(0.2)

    def journal(self, *argv: str) -> str:
        return self.try_run("journalctl", "--no-pager", "--output", "cat", *argv)

    def administrator(self) -> Person:
        """Signed in with the password that the preparation printed."""
        return first_sign_in(self.address, self.journal("--unit", "fsbench-prepare"))

    def remove(self) -> None:
        self.try_run("systemctl", "stop", "fsbench-worker")  # it gives its loop device back
        for argv in (("rm", "--force", "--volumes", NAME), ("network", "rm", NAME)):
            subprocess.run(["docker", *argv], env=self.environment, capture_output=True)


def build_machine_image(docker_host: str) -> None:
    """Raises ServiceFailed. On the images of the stack, which must be there."""
    done = subprocess.run(
        ["docker", "build", "--network", "host", "--tag", IMAGE, str(Path(__file__).parent)],
        env=os.environ | {"DOCKER_HOST": docker_host},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ServiceFailed(done.stdout + done.stderr)


def _checkout() -> bytes:
    """The code of today as a tar, without what Python compiled of it."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for part in PARTS:
            tar.add(ROOT / part, part, filter=_plain)
    return file.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if Path(member.name).name == "__pycache__":
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


@contextmanager
def machine(docker_host: str) -> Iterator[Machine]:
    """A machine on which web and worker run. Raises ServiceFailed."""
    new_machine = Machine(docker_host)
    try:
        new_machine.boot()
        new_machine.install()
        yield new_machine
    finally:
        new_machine.remove()
