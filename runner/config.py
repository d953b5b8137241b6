"""The worker's settings from the environment (docs/settings.md), and which executor follows."""

import hashlib
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from fsbench_web.platform import env
from runner.executors.base import Executor
from runner.executors.docker import DockerExecutor
from runner.executors.local import LocalExecutor
from runner.guests.executor import GuestExecutor
from runner.host import allowed_programs

OWN_IMAGE = "fsbench-runner:local"
EXECUTORS = ("auto", "docker", "local")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_BY_HAND = "On its host: manage.py guest_kernel"


@dataclass(frozen=True)
class WorkerConfig:
    """``site`` tells apart installations of fsbench on one host. ``may_install``: the worker makes
    its image and installs tools (FSBENCH_INSTALL).
    """

    name: str
    lun_file: Path
    lun_file_must_exist: bool
    data_folder: Path
    executor: str
    image: str
    is_privileged: bool
    site: str
    guest_kernels: Path | None = None
    guest_silence_s: float = 60.0
    may_install: bool = False
    holds_processors: bool = False
    drops_caches: bool = True

    @property
    def processor_notes(self) -> Path:
        """The same of processors (runner.host.tuning.processors)."""
        return self.data_folder / "processors"

    @property
    def mount_notes(self) -> Path:
        """Where the worker notes which folders on mounts it made (runner.safety.mounts)."""
        return self.data_folder / "mounts" / self.name

    @property
    def scheduler_notes(self) -> Path:
        """Where it is kept what runs have to put back (runner.host.tuning.scheduler_notes)."""
        return self.data_folder / "schedulers"


def read_config() -> WorkerConfig:
    """The worker's settings. Raises ImproperlyConfigured with the variable's name."""
    executor = env.text("FSBENCH_EXECUTOR", "auto")
    if executor not in EXECUTORS:
        raise ImproperlyConfigured(
            f'FSBENCH_EXECUTOR is "{executor}"; it must be one of {", ".join(EXECUTORS)}.'
        )
    allowed_programs.allowed_names()  # refused now, and not at the first look for tools
    lun_file = env.text("FSBENCH_LUNS", "")
    if lun_file and not Path(lun_file).is_absolute():
        raise ImproperlyConfigured(f'FSBENCH_LUNS is "{lun_file}"; it must be an absolute path.')
    database = settings.DATABASES["default"]
    place = f"{settings.DATA_DIR} {database.get('HOST')} {database['NAME']}"
    return WorkerConfig(
        name=_worker_name(),
        lun_file=Path(lun_file) if lun_file else settings.DATA_DIR / "luns.toml",
        lun_file_must_exist=bool(lun_file),
        data_folder=settings.DATA_DIR,
        executor=executor,
        image=env.text("FSBENCH_IMAGE", OWN_IMAGE),
        is_privileged=env.flag("FSBENCH_DOCKER_PRIVILEGED", False),
        site=hashlib.sha256(place.encode()).hexdigest()[:12],
        guest_kernels=guest_kernels(),
        may_install=_may_install(),
        holds_processors=env.flag("FSBENCH_HOLD_PROCESSORS", False),
        drops_caches=env.flag("FSBENCH_DROP_CACHES", True),
        guest_silence_s=env.integer("FSBENCH_GUEST_SILENCE_S", 60, minimum=5, maximum=3600),
    )


def _may_install() -> bool:
    """In production the owner of the host decides what is installed there, and when. A package
    that arrives automatically between two runs is a change of what they are compared on.
    """
    default = "no" if settings.IS_PRODUCTION else "yes"
    return env.choice("FSBENCH_INSTALL", default, ["yes", "no"]) == "yes"


def guest_kernels() -> Path:
    """The folder of kernel packages, which may come later. Raises ImproperlyConfigured."""
    folder = env.text("FSBENCH_GUEST_KERNELS", "")
    if folder and not Path(folder).is_absolute():
        raise ImproperlyConfigured(
            f'FSBENCH_GUEST_KERNELS is "{folder}"; it must be an absolute path.'
        )
    return Path(folder) if folder else settings.DATA_DIR / "kernels"


def guests_of(config: WorkerConfig) -> GuestExecutor | None:
    """The executor of guests besides the worker's own; it looks for kernels again and again."""
    if config.guest_kernels is None:
        return None
    why_not = "This worker may not fetch kernels (FSBENCH_INSTALL=no, or production without yes)."
    return GuestExecutor(
        config.image,
        config.site,
        folder=config.guest_kernels,
        cache=config.data_folder / "guest",
        silence_s=config.guest_silence_s,
        worker=config.name,
        why_not_fetch="" if config.may_install else f"{why_not} {_BY_HAND}",
    )


def _worker_name() -> str:
    name = env.text("FSBENCH_WORKER", "")
    if not name:
        host = socket.gethostname().split(".")[0].lower()
        return re.sub(r"[^a-z0-9]+", "-", host).strip("-")[:100] or "worker"
    if not _NAME.fullmatch(name):
        raise ImproperlyConfigured(
            f'FSBENCH_WORKER is "{name}"; it must be lower-case letters, digits and hyphens.'
        )
    return name


def choose_executor(config: WorkerConfig) -> tuple[Executor, str]:
    """The executor, and a sentence that says why it was chosen."""
    container = DockerExecutor(config.image, config.site, config.is_privileged)
    if config.executor == "docker":
        return container, "FSBENCH_EXECUTOR=docker."
    if config.executor == "local":
        return LocalExecutor(), "FSBENCH_EXECUTOR=local."
    missing = container.setup_problem()
    if missing:
        return LocalExecutor(), f"Runs are local processes. {missing}"
    return container, f"A Docker daemon with the image {config.image} is there."
