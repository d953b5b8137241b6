"""A throwaway Docker daemon, and the benchmark image in it.

The daemon touches neither the host's firewall nor its bridges, and knows nothing of a daemon that
the host may already run.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.services.process import Service, ServiceFailed, program

PREFIX, IN_USE = "fsbench-docker-", "in-use"


class Dockerd(Service):
    """``host`` is its DOCKER_HOST, ``folder`` is where everything of it is."""

    def __init__(self, folder: Path, *options: str) -> None:
        docker = program("docker", "docker.io or docker-cli")
        self.folder, self.host = folder, f"unix://{folder}/docker.sock"
        super().__init__(
            [
                *(program("dockerd", "docker.io"), "-H", self.host),
                *("--iptables=false", "--ip6tables=false", "--bridge=none"),
                *("--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
                *("--pidfile", str(folder / "pid"), *options),
            ],
            log=folder / "log",
        )
        self._is_ready = lambda: _answers(docker, self.host)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        self.wait_until(self._is_ready, timeout_s=180)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Its containerd goes with it, a moment later: a dockerd that is started in that moment
        would take the dying one for alive, and wait for it in vain.
        """
        pid = (self.folder / "exec" / "containerd" / "containerd.pid").read_text().strip()
        super().kill(number)
        while (Path("/proc") / pid).exists():
            time.sleep(0.05)

    def stop(self, timeout_s: float = 60) -> None:
        if self.process.poll() is None:
            _remove_containers(program("docker", "docker.io or docker-cli"), self.host)
        super().stop(timeout_s)


# What a daemon keeps of images; the rest of its folder it makes anew.
STORED = ("image", "overlay2")


@contextmanager
def docker_daemon(store: Path | None = None, *options: str) -> Iterator[Dockerd]:
    """Start dockerd (it starts its own containerd). Raises ServiceFailed.

    Of a ``store`` (``store_of``) it has the images at once.
    """
    if os.geteuid() != 0:
        raise ServiceFailed("dockerd needs root: run the tests as root, or `make test-quick`")
    with daemon_folder(store, store and store.parent) as folder:
        service = Dockerd(folder, *options)
        try:
            yield service
        finally:
            service.stop()


@contextmanager
def daemon_folder(store: Path | None, beside: Path | None) -> Iterator[Path]:
    """A folder whose ``data`` a daemon begins with: empty, or the images of a ``store``.

    Their files are linked, since nobody writes into a layer: the folder is ``beside`` the store,
    because links end at mounts. It goes with the context, or with the next one beside it.
    """
    with ExitStack() as stack:
        if beside is not None:
            _remove_abandoned(beside)
        folder = Path(stack.enter_context(TemporaryDirectory(prefix=PREFIX, dir=beside)))
        in_use = stack.enter_context((folder / IN_USE).open("w"))
        fcntl.flock(in_use, fcntl.LOCK_EX)
        (folder / "data").mkdir(mode=0o710)
        if store is not None:
            parts = [str(store / part) for part in STORED]
            subprocess.run(["cp", "-a", "--link", *parts, str(folder / "data")], check=True)
        try:
            yield folder
        finally:
            _unmount_below(folder)


@contextmanager
def dockerd() -> Iterator[str]:
    """Start dockerd; gives its DOCKER_HOST. Raises ServiceFailed."""
    with docker_daemon() as daemon:
        yield daemon.host


def store_of(data: Path, store: Path) -> None:
    """Keep the images of a daemon that has ended, for others to begin with."""
    unfinished = store.with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    subprocess.run(
        ["cp", "-a", *(str(data / part) for part in STORED), str(unfinished)], check=True
    )
    unfinished.rename(store)


def _remove_abandoned(beside: Path) -> None:
    """Folders of daemons whose tests were killed: nobody holds their lock any more."""
    for folder in beside.glob(f"{PREFIX}*"):
        with suppress(OSError), (folder / IN_USE).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _unmount_below(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _docker(docker: str, host: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([docker, "-H", host, *arguments], capture_output=True, text=True)


def _answers(docker: str, host: str) -> bool:
    return _docker(docker, host, "info", "--format", "{{.ID}}").returncode == 0


def _remove_containers(docker: str, host: str) -> None:
    """A container left behind by a failed test would keep its mounts and its LUN."""
    containers = _docker(docker, host, "ps", "--all", "--quiet").stdout.split()
    if containers:
        _docker(docker, host, "rm", "--force", "--volumes", *containers)


def _unmount_below(folder: Path) -> None:
    """Detach what the daemon left mounted, innermost first, so that the folder can be removed."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in sorted(mounts, key=len, reverse=True):
        if Path(mount).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", mount], check=False)
