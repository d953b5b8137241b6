"""The images in the tests' daemon, built by the scripts that users run without a registry.

Building them takes minutes (debootstrap, then apt inside), so the results are kept as tar files,
named by a digest of everything they are made of.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.services.dockerd import docker_daemon, store_of
from tests.services.process import ServiceFailed

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGE = "fsbench-runner:test"
RUNNER_PARTS = (
    *("runner/image/Dockerfile", "runner/image/build", "runner/agent", "deploy/debian-base"),
    *("runner/__init__.py", "fsbench_web/core/requirements.py"),
)
STACK_PARTS = (
    *("deploy/Dockerfile", "deploy/build", "deploy/debian-base", "deploy/postgres"),
    *("deploy/redis", "requirements.txt"),
)
# The base too: what stands on another one, even of the same files, is built again.
STACK_IMAGES = ["fsbench-base:bookworm", "fsbench-system", "fsbench-postgres", "fsbench-redis"]


def runner_store() -> Path | None:
    """What a daemon that begins with the benchmark image is made of; None where it is not there."""
    store = _runner_store()
    return store if store.exists() else None


def stack_store() -> Path | None:
    """The same of a daemon that has the images of docker-compose.yml too."""
    store = _stack_store()
    return store if store.exists() else None


def _runner_store() -> Path:
    return cache_folder() / f"store-{digest_of(*RUNNER_PARTS)}"


def _stack_store() -> Path:
    return cache_folder() / f"stack-store-{digest_of(*RUNNER_PARTS, *STACK_PARTS)}"


def _archive_of(kind: str, parts: tuple[str, ...]) -> Path:
    return cache_folder() / f"{kind}-{digest_of(*parts)}.tar"


def build_runner_image(docker_host: str) -> str:
    """Have the image in this daemon and give its name. Raises ServiceFailed.

    A daemon of ``runner_store`` has it; otherwise the store is made for those that come later.
    """
    if runner_store() is not None and _has(docker_host, IMAGE):
        return IMAGE
    archive = _archive_of("runner", RUNNER_PARTS)
    build = [str(ROOT / "runner/image/build"), "--without-registry", IMAGE]
    _load_or_build(docker_host, archive, build, [IMAGE])
    _make_store(_runner_store(), archive)
    return IMAGE


def _make_store(store: Path, *tars: Path) -> None:
    with _only_one() as folder:
        if store.exists():
            return
        with docker_daemon() as other:
            for tar in tars:
                _run(other.host, "docker", "load", "--input", str(tar))
            other.stop()
            store_of(other.folder / "data", store)
        pattern = f"{store.name.rpartition('-')[0]}-*"
        for old in _oldest(folder, pattern, 2):
            shutil.rmtree(old, ignore_errors=True)


def _has(docker_host: str, *images: str) -> bool:
    argv = ["docker", "-H", docker_host, "image", "inspect", *images]
    return subprocess.run(argv, capture_output=True).returncode == 0


def _oldest(folder: Path, pattern: str, count: int) -> list[Path]:
    return sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)[:-count]


def build_stack_images(docker_host: str) -> None:
    """Have the images of docker-compose.yml in this daemon. Raises ServiceFailed.

    What takes long is kept, and a daemon of ``stack_store`` has it; the code of today is put on it
    every time.
    """
    build = [str(ROOT / "deploy/build")]
    if stack_store() is None or not _has(docker_host, *STACK_IMAGES):
        archive = _archive_of("stack", STACK_PARTS)
        _load_or_build(docker_host, archive, build, STACK_IMAGES)
        benchmark = _archive_of("runner", RUNNER_PARTS)
        if benchmark.exists():
            _make_store(_stack_store(), benchmark, archive)
    with _only_one() as folder:
        _run(docker_host, *build, "application", env=_environment(folder))


def _load_or_build(docker_host: str, archive: Path, build: list[str], images: list[str]) -> None:
    """Who builds waits for the others who do; who finds it built waits for nobody."""
    if not archive.exists():
        with _only_one() as folder:
            if not archive.exists():
                _run(docker_host, *build, env=_environment(folder))
                _keep(docker_host, archive, images)
                return
    _run(docker_host, "docker", "load", "--input", str(archive))


def _keep(docker_host: str, archive: Path, images: list[str]) -> None:
    unfinished = archive.with_suffix(".part")
    _run(docker_host, "docker", "save", "--output", str(unfinished), *images)
    unfinished.rename(archive)
    # Branches that are worked on side by side do not take each other's away.
    for old in _oldest(archive.parent, f"{archive.name.partition('-')[0]}-*.tar", 3):
        old.unlink()


def _environment(folder: Path) -> dict[str, str]:
    return {
        "FSBENCH_IMAGE_CACHE": str(folder / "base.tar"),
        "FSBENCH_IMAGE_WHEELS": str(folder / "wheels"),
    }


@contextmanager
def _only_one() -> Iterator[Path]:
    """The folder of what is kept. Two suites at once build it once."""
    folder = cache_folder()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def cache_folder() -> Path:
    """Where what takes long to get is kept between test runs."""
    base = os.environ.get("XDG_CACHE_HOME") or ("/var/cache" if os.geteuid() == 0 else "~/.cache")
    folder = Path(base).expanduser() / "fsbench-test"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest_of(*parts: str) -> str:
    """Changes with every file that goes into the images, and with its place and mode."""
    digest = hashlib.sha256()
    for part in parts:
        for path in sorted([ROOT / part, *(ROOT / part).rglob("*")]):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(ROOT)} {path.stat().st_mode:o}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run(docker_host: str, *argv: str, env: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        argv,
        env={**os.environ, **(env or {}), "DOCKER_HOST": docker_host},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise ServiceFailed(f"{' '.join(argv)} ended with {done.returncode}:\n{end}")
