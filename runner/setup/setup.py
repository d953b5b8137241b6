"""What a worker does so that it can do more: make the image, or install tools.

It works in the background, never while a run is measured. It looks at cheap facts every few
seconds, and probes again when they change.
"""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from fsbench_web.catalog.workers.announce import announce
from runner.executors.base import ExecutorAway
from runner.executors.docker import DockerExecutor, FoundImage
from runner.image import inputs
from runner.safety import locks
from runner.setup.install_process import InstallProcess
from runner.setup.setup_needs import IMAGE, PACKAGES, SetupNeed, facts_of, image_need, packages_need
from runner.worker import Host

logger = logging.getLogger("fsbench.worker")

LOOK_EVERY_S = 3.0
ANNOUNCE_EVERY_S = 0.9
# After a failure: then it is tried again, unless something has changed before.
RETRY_AFTER_S = (600.0, 3600.0, 6 * 3600.0)
_LOCALLY = "Runs are local processes. "
# Pages add the state in their own words, where it is not part of the title.
_TITLES = {
    (IMAGE, "running"): "The benchmark image is being made",
    (IMAGE, "failed"): "Making the benchmark image",
    (IMAGE, "missing"): "The benchmark image is to be made",
    (PACKAGES, "running"): "The benchmark tools are being installed",
    (PACKAGES, "failed"): "Installing the benchmark tools",
    (PACKAGES, "missing"): "Benchmark tools are missing",
}


@dataclass(frozen=True)
class Failure:
    """Of ``need``; tried again at ``retry_at`` (of the clock), never automatically when None."""

    need: SetupNeed
    problem: str
    retry_at: float | None
    tries: int


class Setup:
    """``look`` is called every second or so; ``echo`` tells anyone who started the worker."""

    def __init__(
        self,
        host: Host,
        echo: Callable[[str], None] = logger.info,
        *,
        root: Path = settings.BASE_DIR,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.host, self.config = host, host.config
        self._echo, self._clock = echo, clock
        self._root = root
        self._installer = root / "deploy/install_tools.py"
        self._builder = root / "runner/image/build"
        self._container = (
            host.executor
            if isinstance(host.executor, DockerExecutor)
            else DockerExecutor(host.config.image, host.config.site, host.config.is_privileged)
        )
        self._digest = inputs.digest(root)
        self._facts = facts_of(host.executor)
        # An image whose containers cannot be used here (the daemon is another host's).
        self._useless_image = ""
        self._process: tuple[SetupNeed, InstallProcess] | None = None
        self._lock: int | None = None
        self._failure: Failure | None = None
        self._has_made_image = False
        # Packages that were asked for and that this release does not have.
        self._given_up: set[str] = set()
        self._setup_report: set[tuple[str, ...]] = set()
        self._next_look = self._next_announcement = 0.0
        self._one_at_a_time = threading.Lock()

    def look(self) -> None:
        """Notice what has changed, and begin what is to be done."""
        with self._one_at_a_time:
            if not self.host.stopping.is_set():
                self._look()

    def _look(self) -> None:
        if self._process is not None:
            self._follow(*self._process)
        elif self._clock() >= self._next_look and not self.host.is_measuring:
            self._next_look = self._clock() + LOOK_EVERY_S
            self._notice()
            self._act(self._need())

    def foresee(self) -> None:
        """Say what will be done before the first look, so that the first report is complete."""
        need = self._need()
        if need is not None and not need.forbidden:
            self.host.setup = _setup_report(need, "running")

    def stop(self) -> None:
        """End what is being done; the next worker begins it again."""
        with self._one_at_a_time:
            if self._process is not None:
                _, process = self._process
                process.stop()
                self._process = None
            self._unlock()

    # What is there

    def _image(self) -> tuple[FoundImage | None, str]:
        """The image, or why there is none and whether a daemon answers: (None, "") if one does."""
        try:
            return self._container.found_image(), ""
        except ExecutorAway as error:
            return None, str(error)

    def _notice(self) -> None:
        """Probe again where something has changed; go over to containers where they came."""
        facts = facts_of(self.host.executor)
        if facts is not None and facts != self._facts:
            with self._hold_lock() as is_alone:
                if is_alone:
                    self.host.probe_again()
                    self._facts = facts
                    logger.debug("what can be run here was looked at again")
                    self._publish()
        if self.config.executor == "auto" and self.host.executor.name == "local":
            self._change_to_containers()

    def _change_to_containers(self) -> None:
        image, silence = self._image()
        if image is None:
            why = silence or self._container.setup_problem()
            self.host.executor_reason = f"{_LOCALLY}{why}"
            return
        if image.id == self._useless_image or self._is_to_be_made_first(image):
            return
        with self._hold_lock() as is_alone:
            if not is_alone:
                return
            capabilities = self._container.probe()
            if not capabilities.is_usable:
                self._useless_image = image.id
                self.host.executor_reason = f"{_LOCALLY}{capabilities.reason}"
                return
            reason = f"A Docker daemon with the image {self.config.image} is there."
            self.host.use(self._container, reason, capabilities)
            self._facts = facts_of(self._container)
        self._echo(f"Runs are carried out in containers from now on. {reason}")
        self._publish()

    def _is_to_be_made_first(self, image: FoundImage) -> bool:
        need = image_need(self.config, image, self._digest, inputs.digest(self._root))
        return need is not None and not need.forbidden and not self._has_failed(need)

    def _need(self) -> SetupNeed | None:
        silence = ""
        if self.config.executor != "local":
            image, silence = self._image()
            if not silence and (os.geteuid() == 0 or self.host.executor.name == "docker"):
                is_useless = image is not None and image.id == self._useless_image
                if not is_useless:
                    return image_need(self.config, image, self._digest, inputs.digest(self._root))
            if self.config.executor == "docker" or self.host.executor.name == "docker":
                return None
        why = self.host.executor_reason.removeprefix(_LOCALLY)
        if self.config.executor == "local":
            why = "Runs are processes of this host (FSBENCH_EXECUTOR=local)."
        elif silence:
            why = "No Docker daemon answers."
        return packages_need(
            self.config, given_up=self._given_up, why_local=why, script=self._installer
        )

    # What is done

    def _act(self, need: SetupNeed | None) -> None:
        if need is None:
            self._failure = None
            self._announce(None)
        elif need.forbidden:
            self._announce(
                _setup_report(need, "missing", problem=f"{need.forbidden} {_by_hand(need)}")
            )
            self._echo_once(need, f"{need.reason} {need.forbidden} {_by_hand(need)}")
        elif self._has_failed(need) and self._failure is not None:
            self._announce(_setup_report(need, "failed", problem=self._failure.problem))
        elif need.kind == IMAGE and self._has_made_image:
            self._fail(
                need,
                "Another checkout on this host makes an image of the same name from other files: "
                "give one of the two a name of its own with FSBENCH_IMAGE.",
                is_final=True,
            )
        else:
            self._begin(need)

    def _has_failed(self, need: SetupNeed) -> bool:
        failure = self._failure
        if failure is None or failure.need != need:
            return False
        return failure.retry_at is None or self._clock() < failure.retry_at

    def _begin(self, need: SetupNeed) -> None:
        try:
            self._lock = locks.acquire_setup_lock()
        except locks.LockedElsewhere:
            waits = "It starts when the run that this host measures has ended"
            self._announce(
                _setup_report(need, "missing", problem=f"{waits} (or another installation there).")
            )
            return
        try:
            process = self._start(need, self._lock)
        except OSError as error:
            self._unlock()
            self._fail(need, f"It cannot be started: {error}.")
            return
        self._process = (need, process)
        action = (
            "It is installed from this machine's own mirrors"
            if need.kind == PACKAGES
            else "It is made"
        )
        self._echo_once(
            need,
            f"{need.reason} {action} in the background; runs wait meanwhile, all else works. "
            "(FSBENCH_INSTALL=no keeps hands off.)",
        )
        self._announce(_setup_report(need, "running"))

    def _start(self, need: SetupNeed, lock: int) -> InstallProcess:
        if need.kind == PACKAGES:
            argv = [sys.executable, "-B", str(self._installer), "--lock-held"]
            return InstallProcess(argv, {}, lock, ends_as_group=False, clock=self._clock)
        image, _ = self._image()
        labels = image.labels if image else {}
        environment = {
            "FSBENCH_INSTALL": "yes",
            "SETUP_LOCK_HELD": "yes",
            "PYTHON": sys.executable,
            "BUILDKIT_PROGRESS": "plain",
        }
        # As it was made before, where this environment does not say otherwise.
        for variable, label in (
            ("FSBENCH_IMAGE_KERNEL_SOURCE", inputs.KERNEL_SOURCE_LABEL),
            ("FSBENCH_IMAGE_SUITE", inputs.SUITE_LABEL),
        ):
            if label in labels and not os.environ.get(variable):
                environment[variable] = labels[label]
        argv = ["sh", str(self._builder), self.config.image]
        return InstallProcess(argv, environment, lock, ends_as_group=True, clock=self._clock)

    def _follow(self, need: SetupNeed, process: InstallProcess) -> None:
        code = process.exit_code()
        if code is None:
            if self._clock() >= self._next_announcement:
                self._announce(_setup_report(need, "running"))
            return
        self._process = None
        took = self._clock() - process.started
        try:
            if code:
                self._fail(need, process.reason())
            else:
                self._succeed(need, took)
            self._notice()
        finally:
            self._unlock()
            if not code:
                # Not before what it brought is known: whoever looked in between would see a worker
                # that has come to its end and still lacks all of it.
                self.host.setup = None
        self._next_look = 0.0
        self._publish()

    def _succeed(self, need: SetupNeed, took_s: float) -> None:
        self._failure = None
        if need.kind == IMAGE:
            self._has_made_image = True
        else:
            # The installer succeeded: what is not there now is not in this release.
            self._given_up.update(need.lacking)
        outcome = (
            "benchmark image is ready" if need.kind == IMAGE else "benchmark tools are installed"
        )
        self._echo(f"The {outcome}, after {took_s:.0f} s.")

    def _fail(self, need: SetupNeed, why: str, *, is_final: bool = False) -> None:
        tries = self._failure.tries if self._failure and self._failure.need == need else 0
        wait_s = RETRY_AFTER_S[min(tries, len(RETRY_AFTER_S) - 1)]
        why = why.rstrip(".")
        again = f" It is tried again in {wait_s / 60:.0f} minutes, or when something has changed."
        problem = f"{why}.{'' if is_final else again} {_by_hand(need)}"
        retry_at = None if is_final else self._clock() + wait_s
        self._failure = Failure(need, problem, retry_at, tries + 1)
        logger.error("%s failed: %s", _TITLES[need.kind, "failed"], problem)
        self._announce(_setup_report(need, "failed", problem=problem))

    # What is said

    def _announce(self, data: dict[str, Any] | None) -> None:
        is_running = data is not None and data["state"] == "running"
        if data != self.host.setup or is_running:
            self.host.setup = data
            self._publish()

    def _publish(self) -> None:
        self._next_announcement = self._clock() + ANNOUNCE_EVERY_S
        announce(self.host.announcement())

    def _echo_once(self, need: SetupNeed, sentence: str) -> None:
        mark = (need.kind, need.forbidden, *need.lacking)
        if mark not in self._setup_report:
            self._setup_report.add(mark)
            self._echo(sentence)

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[bool]:
        """False while a run is being measured on this host; none begins inside."""
        if self._lock is not None:
            yield True
            return
        try:
            self._lock = locks.acquire_setup_lock()
        except locks.LockedElsewhere:
            yield False
            return
        try:
            yield True
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _by_hand(need: SetupNeed) -> str:
    return f"By hand: {need.command}"


def _setup_report(
    need: SetupNeed,
    state: str,
    *,
    problem: str = "",
) -> dict[str, Any]:
    """As ``catalog.workers.announce`` describes it."""
    return {
        "kind": need.kind,
        "state": state,
        "title": _TITLES[need.kind, state],
        "reason": need.reason,
        "problem": problem.strip(),
        "command": need.command,
    }
