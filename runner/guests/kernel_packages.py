"""Kernel packages fetched by apt into the folder that guests boot from. None is run."""

import contextlib
import fcntl
import logging
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fsbench_web.catalog.workers.machines import kernel_package_problem
from runner.guests import kernels
from runner.guests.apt import ARCHITECTURE, Apt, FetchError, KernelPackage, OnProgress

logger = logging.getLogger("fsbench.worker")

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"


def fetch(
    folder: Path,
    package: str = "",
    *,
    on_progress: OnProgress = lambda step, share: None,
    keeps_on: Callable[[], bool] = lambda: True,
) -> Path:
    """Get a kernel's package ("": the distribution's own) into the folder, whole or not at all; its
    path. Raises FetchError.
    """
    if problem := kernel_package_problem(package):
        raise FetchError(problem)
    with _work_folder(folder) as work:
        on_progress("Reading the lists of packages", None)
        apt = Apt(work, keeps_on)
        apt.update()
        chosen = apt.package(package) if package else apt.current()
        place = folder / file_name(chosen)
        # With modules that were built for it, a package is in a folder of its name.
        for path in (place, place.with_name(place.name.removesuffix(".deb"))):
            if path.exists():
                return path
        free = shutil.disk_usage(folder).free
        if free < 2 * chosen.size_bytes:
            raise FetchError(
                f"{chosen.name} takes {chosen.size_bytes // 2**20} MiB, and twice that is needed, "
                f"but {folder} has {free // 2**20} MiB left: make room there."
            )
        file = apt.download(chosen, on_progress)
        for part in sorted(file.glob("*.deb")) if file.is_dir() else [file]:
            try:
                kernels.check(part)
            except kernels.UnusableKernel as error:
                raise FetchError(str(error)) from None
            part.chmod(0o644)
        # From the same file system: it is there as a whole, or not at all.
        file.replace(place)
        return place


def add_modules(package: Path, name: str, archive: Path) -> Path:
    """Put a tar of modules next to a kernel's package, in a folder with the package's name.

    It is the same kernel, under the same name. Raises FetchError.
    """
    with _work_folder(package.parent) as work:
        if package.is_dir():
            shutil.copy(archive, work / name)
            (work / name).replace(package / name)
            return package
        folder = work / package.name.removesuffix(".deb")
        folder.mkdir()
        folder.chmod(0o755)
        shutil.copy(archive, folder / name)
        (folder / package.name).hardlink_to(package)
        place = package.parent / folder.name
        folder.replace(place)
        package.unlink()
        return place


def available(work: Path) -> tuple[KernelPackage, list[KernelPackage]]:
    """The distribution's kernel of today, and all that apt has. Raises FetchError."""
    apt = Apt(work)
    apt.update()
    return apt.current(), apt.packages()


def file_name(package: KernelPackage) -> str:
    """As the folder's kernels are called, without an epoch; of a split one a folder."""
    version = re.sub(r"[^A-Za-z0-9.+~-]", "-", package.version)
    suffix = "" if package.parts else ".deb"
    return f"{package.name}_{version}_{ARCHITECTURE}{suffix}"


@contextlib.contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    """A folder to work in, on the same file system; what a killed fetch left there is removed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / ".fetch.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise FetchError(
            f"{folder} cannot be written ({error.strerror}): give it to the user that runs this."
        ) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FetchError("A kernel is being fetched here already: wait for it.") from None
        for leftover in folder.glob(".fetch-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as work:
            try:
                yield Path(work)
            except OSError as error:
                raise FetchError(f"It cannot be kept in {folder}: {error.strerror}.") from None
    finally:
        os.close(lock)


class KernelFetch:
    """One fetch at a time. ``why_not``: why this worker fetches none. Three threads use it."""

    def __init__(self, folder: Path, why_not: str = "") -> None:
        self.folder, self.why_not = folder, why_not
        self._lock = threading.Lock()
        self._report: dict[str, Any] | None = None

    def ask(self, package: str) -> None:
        """Fetch this package, or with "" the distribution's own, when nothing is measured. Never
        raises: problems are announced.
        """
        with self._lock:
            if self._report is not None and self._report["state"] in (WAITING, RUNNING):
                return
            self._report = {"package": package, "state": WAITING}
            if self.why_not:
                self._report |= {"state": FAILED, "problem": self.why_not}

    def look(self, may_begin: Callable[[], bool], keeps_on: Callable[[], bool]) -> None:
        """Do what was asked for, unless a run is being measured. Takes minutes."""
        with self._lock:
            report = self._report
            if report is None or report["state"] != WAITING or not may_begin():
                return
            self._report = report | {"state": RUNNING}
        package = str(report["package"])
        try:
            path = fetch(self.folder, package, on_progress=self._on_progress, keeps_on=keeps_on)
        except FetchError as error:
            logger.error("the kernel %s was not fetched: %s", package or "of today", error)
            self._end(package, {"state": FAILED, "problem": str(error)})
        except Exception as error:
            logger.exception("the kernel %s was not fetched", package or "of today")
            self._end(
                package,
                {
                    "state": FAILED,
                    "problem": f"{str(error).rstrip('.')}. The worker's log on its host says more.",
                },
            )
        else:
            logger.info("a kernel for guests was fetched: %s", path)
            self._end(path.name, {"state": DONE})

    def _on_progress(self, phase: str, share: float | None) -> None:
        with self._lock:
            if self._report is not None:
                self._report = self._report | {"phase": phase, "share": share}

    def _end(self, package: str, report: dict[str, Any]) -> None:
        with self._lock:
            self._report = {"package": package, **report}

    def announcement(self) -> dict[str, Any]:
        """Its part of ``capabilities["guest"]`` (docs/guest.md)."""
        with self._lock:
            report = dict(self._report) if self._report is not None else None
        return {"why_not_fetch": self.why_not, **({"fetching": report} if report else {})}
