"""What a worker lacks, from facts that are cheap to read."""

import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fsbench_web.core import requirements
from runner.agent.commands import PATH
from runner.config import OWN_IMAGE, WorkerConfig
from runner.executors.base import Executor, ExecutorAway, probed_tools
from runner.executors.docker import DockerExecutor, FoundImage

IMAGE, PACKAGES = "image", "packages"
_MODULES = Path("/lib/modules")


@dataclass(frozen=True)
class SetupNeed:
    """``reason``: why. ``command``: what a person can run instead. ``forbidden``: why the worker
    does not. ``lacking``: packages, or the image's identity, for which a failure is remembered.
    """

    kind: str
    reason: str
    command: str
    forbidden: str = ""
    lacking: tuple[str, ...] = ()


def packages_need(
    config: WorkerConfig, *, given_up: Collection[str], why_local: str, script: Path
) -> SetupNeed | None:
    """What this host lacks for local runs, without ``given_up``. Without root no mkfs is needed."""
    is_root = os.geteuid() == 0
    lacking = [
        package
        for package in requirements.missing_packages(
            has_program, lambda name: is_root and name in mountable()
        )
        if package not in given_up
    ]
    if not lacking or not script.exists():
        return None
    forbidden = ""
    if not is_root:
        forbidden = "Only root can install them."
    elif not config.may_install:
        forbidden = f"This worker may not install them ({_keeps_off()})."
    return SetupNeed(
        PACKAGES,
        f"{why_local} This host lacks {', '.join(lacking)}.",
        "sudo make tools",
        forbidden,
        tuple(lacking),
    )


def image_need(
    config: WorkerConfig, image: FoundImage | None, digest: str, digest_now: str
) -> SetupNeed | None:
    """What is to be made where a daemon answers. ``digest`` is of the files that this worker was
    started with; where they have changed since, the worker is to be started again first.
    """
    name = config.image
    if name != OWN_IMAGE:
        if image is not None:
            return None
        return SetupNeed(
            IMAGE,
            f"The Docker daemon has no image {name}.",
            f"runner/image/build {name}",
            f"FSBENCH_IMAGE names it, and the worker makes only {OWN_IMAGE} automatically.",
        )
    if image is not None and (image.inputs == digest or digest != digest_now):
        return None
    reason = (
        f"The Docker daemon has no image {name}."
        if image is None
        else f"The image {name} was made of other files than this worker's."
    )
    forbidden = ""
    if not config.may_install:
        forbidden = f"This worker may not make it ({_keeps_off()})."
    elif os.geteuid() != 0:
        forbidden = "The worker makes it automatically only as root."
    elif not is_of_this_host():
        forbidden = "DOCKER_HOST names a daemon that is reached over the network."
    elif shutil.which("docker") is None:
        forbidden = (
            "The program docker is not installed (apt-get install docker.io, from Debian 13 on "
            "docker-cli)."
        )
    return SetupNeed(IMAGE, reason, "make image", forbidden, (image.id if image else "",))


def _keeps_off() -> str:
    setting = os.environ.get("FSBENCH_INSTALL")
    return "FSBENCH_INSTALL=no" if setting else "FSBENCH_ENV=production without FSBENCH_INSTALL=yes"


def is_of_this_host() -> bool:
    """Whether the daemon is reached by a socket of this host."""
    address = os.environ.get("DOCKER_HOST", "")
    return not address or address.startswith("unix://")


def facts_of(executor: Executor) -> tuple[Any, ...] | None:
    """What its abilities stand on, to notice changes; None if its daemon is away. Milliseconds."""
    mounts = tuple(
        sorted(mountable() & {spec.kernel_name for spec in requirements.FILESYSTEMS.values()})
    )
    if isinstance(executor, DockerExecutor):
        try:
            image = executor.found_image()
        except ExecutorAway:
            return None
        return (image.id if image else "", mounts)
    programs = []
    for name in probed_tools():
        path = shutil.which(name, path=PATH)
        programs.append((name, path, _changed_at(path) if path else 0))
    return (*programs, mounts)


def _changed_at(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


def has_program(name: str) -> bool:
    """Where the agent looks for programs, whatever PATH the worker was started with."""
    return shutil.which(name, path=PATH) is not None


def mountable() -> frozenset[str]:
    """As ``needs.mountable``; the list of modules is read again only when it has changed."""
    modules = _MODULES / os.uname().release
    marks = tuple(_changed_at(str(modules / name)) for name in ("modules.dep", "modules.builtin"))
    try:
        loaded = Path("/proc/filesystems").read_text(encoding="utf-8")
    except OSError:
        loaded = ""
    return _mountable(loaded, marks)


@lru_cache(maxsize=1)
def _mountable(loaded: str, marks: tuple[int, ...]) -> frozenset[str]:
    return frozenset(requirements.mountable())
