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
    "fsbench_web/core/needs.py",
)
STACK_PARTS = (
    *("deploy/Dockerfile", "deploy/build", "deploy/debian-base", "deploy/postgres"),
    *("deploy/redis", "requirements.txt"),
)
# The base too: what stands on another one, even of the same files, is built again.
STACK_IMAGES = ["fsbench-base:bookworm", "fsbench-system", "fsbench-postgres", "fsbench-redis"]


def runner_store() -> Path | None:
    """What a daemon that begins with the benchmark image is made of; None where it is not there."""
    store = cache_folder() / f"store-{digest_of(*RUNNER_PARTS)}"
    return store if store.exists() else None


def build_runner_image(docker_host: str) -> str:
    """Have the image in this daemon and give its name. Raises ServiceFailed.

    A daemon of ``runner_store`` has it; otherwise the store is made for those that come later.
    """
    if runner_store() is not None and _has(docker_host, IMAGE):
        return IMAGE
    kept = cache_folder() / f"runner-{digest_of(*RUNNER_PARTS)}.tar"
    build = [str(ROOT / "runner/image/build"), "--without-registry", IMAGE]
    _load_or_build(docker_host, kept, build, [IMAGE])
    with _only_one() as folder:
        if runner_store() is None:
            with docker_daemon() as other:
                _run(other.host, "docker", "load", "--input", str(kept))
                other.stop()
                store_of(other.folder / "data", folder / f"store-{digest_of(*RUNNER_PARTS)}")
            for old in _oldest(folder, "store-*", 2):
                shutil.rmtree(old, ignore_errors=True)
    return IMAGE


def _has(docker_host: str, image: str) -> bool:
    argv = ["docker", "-H", docker_host, "image", "inspect", image]
    return subprocess.run(argv, capture_output=True).returncode == 0


def _oldest(folder: Path, pattern: str, kept: int) -> list[Path]:
    return sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)[:-kept]


def build_stack_images(docker_host: str) -> None:
    """Have the images of docker-compose.yml in this daemon. Raises ServiceFailed.

    What takes long is kept; the code of today is put on it every time.
    """
    kept = cache_folder() / f"stack-{digest_of(*STACK_PARTS)}.tar"
    build = [str(ROOT / "deploy/build")]
    _load_or_build(docker_host, kept, build, STACK_IMAGES)
    with _only_one() as folder:
        _run(docker_host, *build, "application", env=_environment(folder))


def _load_or_build(docker_host: str, kept: Path, build: list[str], images: list[str]) -> None:
    """Who builds waits for the others who do; who finds it built waits for nobody."""
    if not kept.exists():
        with _only_one() as folder:
            if not kept.exists():
                _run(docker_host, *build, env=_environment(folder))
                _keep(docker_host, kept, images)
                return
    _run(docker_host, "docker", "load", "--input", str(kept))


def _keep(docker_host: str, kept: Path, images: list[str]) -> None:
    unfinished = kept.with_suffix(".part")
    _run(docker_host, "docker", "save", "--output", str(unfinished), *images)
    unfinished.rename(kept)
    # Branches that are worked on side by side do not take each other's away.
    for old in _oldest(kept.parent, f"{kept.name.partition('-')[0]}-*.tar", 3):
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
