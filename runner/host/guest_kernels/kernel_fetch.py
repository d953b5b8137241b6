"""A kernel that somebody asked this worker to fetch: what was asked, and how far it is."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.host.guest_kernels import kernel_packages
from runner.host.guest_kernels.apt import FetchError

logger = logging.getLogger("fsbench.worker")

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"


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
            path = kernel_packages.fetch(
                self.folder, package, on_progress=self._on_progress, keeps_on=keeps_on
            )
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
