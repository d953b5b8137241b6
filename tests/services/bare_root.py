"""A bare Debian of the tests' own: Python, make, git and certificates, and nothing else.

    with bare_root() as root:
        root.copy_checkout("/root/fsbench")
        root.run(["make", "test-packages"], cwd="/root/fsbench")

It is a root file system made by debootstrap (kept as a tar, unpacked in seconds) in namespaces of
its own for mounts, processes and IPC. It shares the kernel, its devices and the network with the
host, and sees no file and no process of it. All of it ends with the context, and also when the
process that opened it is killed: ``bare_keeper`` sees to that. Needs root and Debian or Ubuntu;
standard library only, because a fresh clone has nothing else.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tests.services import registries
from tests.services.bare_keeper import UNREAD
from tests.services.image import ROOT, cache_folder
from tests.services.process import ServiceFailed, program

PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# In kernel order: the mounts last, because the host's nsenter is no longer seen after them.
_ENTER = ("--ipc", "--pid", "--mount")
_NOT_KEPT = " ".join(f"--exclude='.{pattern}'" for pattern in UNREAD)
# In memory: dpkg waits for the disk after every file. $0 is the tar, then comes debootstrap.
_MAKE = f"""
mount -t tmpfs -o mode=0755 tmpfs /mnt
"$@"
cd /mnt/root
tar --one-file-system --exclude='./var/cache/apt/archives/*.deb' \
    --exclude='./var/lib/apt/lists/*_*' {_NOT_KEPT} -cf "$0" .
"""


class Inside(subprocess.Popen[str]):
    """A process in a bare root. Signals go to it and its whole group, as Ctrl-C's do."""

    def send_signal(self, sig: int) -> None:
        if self.poll() is not None:
            return
        with suppress(OSError):  # it ended at this moment
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
            for child in children.split() or [str(self.pid)]:
                try:
                    os.killpg(int(child), sig)
                except ProcessLookupError:  # not yet a group of its own
                    os.kill(int(child), sig)


class BareRoot:
    """``folder`` is its ``/`` as the host sees it: read and write files there."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.folder, self.pid = folder, pid

    def environment(self, **variables: str) -> dict[str, str]:
        """What a shell of root has there, and how this host reaches the registries."""
        plain = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
        return plain | registries.environment() | variables

    def popen(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Inside:
        """Start a program in it, in a session of its own; ``env`` comes on top of a plain one."""
        target = [program("nsenter", "util-linux"), "--target", str(self.pid), *_ENTER]
        return Inside(
            [*target, "--", "setsid", "env", f"--chdir={cwd}", *argv],
            env=self.environment(**(env or {})),
            start_new_session=True,
            text=True,
            **{"stdin": subprocess.DEVNULL, **options},
        )

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout_s: float | None = None,
        stdin: IO[str] | int = subprocess.DEVNULL,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in it to its end; its output is captured, both streams as one.

        Raises ServiceFailed with the output where it fails, unless ``check`` is off, and
        TimeoutExpired.
        """
        process = self.popen(
            argv, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        with process:
            try:
                output, _ = process.communicate(timeout=timeout_s)
            except BaseException:
                process.kill()
                raise
        if check and process.returncode:
            raise ServiceFailed(f"{' '.join(argv)} ended with {process.returncode}:\n{output}")
        return subprocess.CompletedProcess(list(argv), process.returncode, output)

    def copy_checkout(self, target: str, source: Path = ROOT) -> None:
        """The files of a work tree as they are now, in a Git repository of their own."""
        folder = self.folder / target.lstrip("/")
        for name in _files_of(source):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, folder / name, follow_symlinks=False)
        author = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
        self.run(["git", "init", "--quiet"], cwd=target)
        self.run(["git", "add", "--all"], cwd=target)
        self.run(["git", *author, "commit", "--quiet", "--message", "As it is"], cwd=target)

    def loop_device(self, size_mib: int) -> str:
        """Path of a loop device of its own, attached until it ends."""
        file = self.folder / f"var/lib/disk-{os.urandom(4).hex()}.img"
        with file.open("wb") as image:
            image.truncate(size_mib << 20)
        command = [program("losetup", "mount"), "--find", "--show", "--direct-io=on", str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ServiceFailed(f"losetup: {done.stderr}")
        return done.stdout.strip()


@contextmanager
def bare_root(
    shared: Mapping[Path, str] | None = None, with_packages: Sequence[str] = ()
) -> Iterator[BareRoot]:
    """A bare root, until the end of the context. Raises ServiceFailed.

    ``shared`` are folders of the host that are mounted in it, each with its place there;
    ``with_packages`` are installed already, beside what every bare root has.
    """
    if os.geteuid() != 0:
        raise ServiceFailed("a bare root needs root: run the tests as root, or `make test-quick`")
    order = {
        "tar": str(kept_root(with_packages)),
        "shared": {str(host): inside for host, inside in (shared or {}).items()},
    }
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.services.bare_keeper", json.dumps(order)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    try:
        answer = keeper.stdout.readline()
        if not answer:
            raise ServiceFailed("the bare root did not start: see above")
        started = json.loads(answer)
        yield BareRoot(Path(started["folder"]), started["pid"])
    finally:
        keeper.stdin.close()  # its sign to end everything
        _wait_whatever_comes(keeper)


def _wait_whatever_comes(keeper: subprocess.Popen[str]) -> None:
    while True:
        try:
            keeper.wait()
            return
        except KeyboardInterrupt:
            continue


def kept_root(with_packages: Sequence[str] = ()) -> Path:
    """The bare root as a tar, made when there is none yet. Raises ServiceFailed."""
    packages = (*PACKAGES, *with_packages)
    distribution, suite = registries.bare_release()
    mirror = next(source for source in registries.bare_sources() if source.suite == suite)
    # Ubuntu has python3-venv in universe.
    components = "main,universe" if distribution == "ubuntu" else "main"
    machine = os.uname().machine
    made_of = "\n".join((suite, components, mirror.address, machine, *packages, *UNREAD))
    cache = cache_folder()
    tar = cache / f"bare-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.tar"
    if tar.exists():
        return tar
    with (cache / "bare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if tar.exists():
            return tar
        print(f"Making a bare {suite} from {mirror.address} (about a minute)", flush=True)
        unfinished = tar.with_suffix(".part")
        options = ["--variant=minbase", f"--components={components}"]
        if keyring := registries.bare_keyring():
            options.append(f"--keyring={keyring}")
        _run_alone(
            *("sh", "-ec", _MAKE, str(unfinished), _debootstrap(), *options),
            *(f"--include={','.join(packages)}", suite, "/mnt/root", mirror.address),
            *_script(distribution, suite),
        )
        unfinished.rename(tar)
        for old in sorted(cache.glob("bare-*.tar"), key=lambda path: path.stat().st_mtime)[:-6]:
            old.unlink()
    return tar


def _debootstrap() -> str:
    try:
        return program("debootstrap", "debootstrap")
    except ServiceFailed:
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in ("update", "install --yes --no-install-recommends debootstrap"):
            _run(["apt-get", *command.split()], env)
        return program("debootstrap", "debootstrap")


def _script(distribution: str, suite: str) -> list[str]:
    """debootstrap's for all releases of a distribution, where it does not know this one by name."""
    scripts = Path("/usr/share/debootstrap/scripts")
    if (scripts / suite).exists():
        return []
    return [str(scripts / ("gutsy" if distribution == "ubuntu" else "sid"))]


def _run_alone(*argv: str) -> None:
    """In namespaces of its own: however it ends, none of its mounts and processes stay."""
    alone = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    _run([program("setpriv", "util-linux"), "--pdeathsig", "KILL", "unshare", *alone, *argv])


def _run(argv: list[str], env: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(argv, env=env, stdout=-1, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        end = "\n".join(done.stdout.splitlines()[-30:])
        raise ServiceFailed(f"{' '.join(argv)} ended with {done.returncode}:\n{end}")


def _files_of(source: Path) -> list[str]:
    """What Git would take; of a tree without Git everything but what its Makefile makes."""
    git = ("git", "-c", "safe.directory=*", "ls-files", "-z")
    listed = subprocess.run(
        [*git, "--cached", "--others", "--exclude-standard"],
        cwd=source,
        capture_output=True,
        text=True,
    )
    if listed.returncode == 0:
        names = set(listed.stdout.split("\0")) - {""}
        return sorted(name for name in names if os.path.lexists(source / name))
    generated = {".git", ".venv", ".cache", "data", "__pycache__"}
    return sorted(
        str(path.relative_to(source))
        for path in source.rglob("*")
        if not path.is_dir() and not generated & set(path.relative_to(source).parts)
    )
