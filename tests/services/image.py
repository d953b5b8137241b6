"""The benchmark image in the tests' daemon, built by the script that users run.

Building it takes minutes (debootstrap, then apt inside), so the result is kept as a tar file,
named by a digest of everything it is made of.
"""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.services.process import ServiceFailed

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGE = "fsbench-runner:test"


def build_runner_image(docker_host: str) -> str:
    """Have the image in this daemon and give its name. Raises ServiceFailed."""
    folder = cache_folder()
    kept = folder / f"runner-{_digest()}.tar"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two suites at once build it once
        if kept.exists():
            _run(docker_host, "docker", "load", "--input", str(kept))
            return IMAGE
        base = {"FSBENCH_IMAGE_CACHE": str(folder / "base.tar")}
        _run(docker_host, str(ROOT / "runner/image/build"), IMAGE, env=base)
        unfinished = kept.with_suffix(".part")
        _run(docker_host, "docker", "save", "--output", str(unfinished), IMAGE)
        for old in folder.glob("runner-*.tar"):
            old.unlink()
        unfinished.rename(kept)
    return IMAGE


def cache_folder() -> Path:
    """Where what takes long to get is kept between test runs."""
    base = os.environ.get("XDG_CACHE_HOME") or ("/var/cache" if os.geteuid() == 0 else "~/.cache")
    folder = Path(base).expanduser() / "fsbench-test"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _digest() -> str:
    """Changes with every file that goes into the image, and with its place and mode."""
    digest = hashlib.sha256()
    for part in ("runner/image", "runner/agent"):
        for path in sorted((ROOT / part).rglob("*")):
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
