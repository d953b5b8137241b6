"""Starts web and worker, says when they answer, restarts them, and ends them on a signal."""

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from django.conf import settings

from fsbench_web.platform import program_files
from fsbench_web.serving import console, health_check, housekeeping
from fsbench_web.serving.children import Child
from fsbench_web.serving.web import GRACE_S

FIRST_GIVEN_SOCKET = 3  # SD_LISTEN_FDS_START
BACKLOG = 4096
CHECKS_FILES_EVERY_S = 60.0
# Then the supervisor says once what is missing at the start.
SAYS_AFTER_S = 60.0
_monotonic = time.monotonic


class AddressInUse(Exception):
    """The address cannot be listened on; the text says why and what to do."""


def open_socket(host: str, port: int) -> socket.socket:
    """Listen on the address, or on a service manager's socket (sd_listen_fds(3)).

    Port 0 takes a free one. Raises AddressInUse.
    """
    if os.environ.get("LISTEN_PID") == str(os.getpid()) and os.environ.get("LISTEN_FDS") == "1":
        # For this process alone; children get what they need by number.
        del os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"]
        return socket.socket(fileno=FIRST_GIVEN_SOCKET)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AddressInUse(
            f"{host}:{port} cannot be used: {reason}. "
            f"Choose another port: make run PORT={port + 1 if port < 65535 else 8000}"
        ) from None


def address_of(listening: socket.socket, *, of_all: str | None = None) -> str:
    """The address to type into a browser; ``of_all`` is the name where it listens on all."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = of_all or socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Supervisor:
    """The processes of one site, on a socket that is open already."""

    def __init__(
        self,
        listening: socket.socket,
        *,
        processes: int,
        with_worker: bool,
        echo: Callable[[str], None],
    ):
        manage = str(settings.BASE_DIR / "manage.py")
        web = [sys.executable, "-m", "fsbench_web.serving.web", str(listening.fileno())]
        self.webs = [
            Child(
                "web process" if processes == 1 else f"web process {number}",
                web,
                pass_fds=[listening.fileno()],
                end_within_s=GRACE_S + 5.0,
            )
            for number in range(1, processes + 1)
        ]
        self.children = [*self.webs, Child("importer", [sys.executable, manage, "importer"])]
        if with_worker:
            self.children.append(Child("worker", [sys.executable, manage, "worker"]))
        # A worker of another host may come in an hour, or never: the web is ready without it.
        path = "/api/v1/health" if with_worker else "/api/v1/health/ready"
        is_ipv6 = listening.family == socket.AF_INET6
        self._health_url = address_of(listening, of_all="::1" if is_ipv6 else "127.0.0.1") + path
        self._listening = listening
        self._echo = echo
        self._stopping = False
        self._renewing = False
        self._files_have_changed = False
        self._announcement: Sequence[str] = ()
        self._parent = Path(f"/proc/{os.getppid()}/status")
        self._parent_was_make = _is_make_that_catches_interrupts(self._parent)

    def run(self, announcement: Sequence[str]) -> None:
        """Return after SIGINT or SIGTERM, when all children have ended.

        ``announcement`` is printed once everything answers.
        """
        self._announcement = announcement
        handlers = {signal.SIGINT: self._stop, signal.SIGTERM: self._stop}
        handlers[signal.SIGHUP] = self._renew
        previous = {number: signal.signal(number, handle) for number, handle in handlers.items()}
        program_files.note()
        try:
            with _shared_counters(len(self.webs)):
                for child in self.children:
                    child.start()
                self._wait_for_health()
                if not self._must_stop():
                    housekeeping.start()
                self._supervise()
        finally:
            self._end_children()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _renew(self, number: int, frame: FrameType | None) -> None:
        self._renewing = True

    def _must_stop(self) -> bool:
        # An interrupt sent to `make` alone (not by a terminal's Ctrl-C, which reaches us too) makes
        # it wait for us without a word. What we can see is that it no longer catches interrupts.
        if self._parent_was_make and not _is_make_that_catches_interrupts(self._parent):
            self._stopping = True
        return self._stopping

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._must_stop() and not self._renewing and time.monotonic() < end:
            time.sleep(0.1)

    def _watch_children(self) -> None:
        if self._renewing:
            self._renew_webs()
        for child in self.children:
            if sentence := child.watch():
                self._warn(sentence)

    def _renew_webs(self) -> None:
        """On SIGHUP: restart the web processes one after another; connections wait meanwhile.

        Refused when files changed: static files and tables belong to a start.
        """
        self._renewing = False
        if program_files.have_changed():
            self._files_have_changed = True
            self._warn(f"The web processes were not restarted. {program_files.NEEDS_A_RESTART}")
            return
        for child in self.webs:
            child.terminate()
            child.end()
            child.start()
        self._echo("The web processes were restarted.")

    def _wait_for_health(self) -> None:
        """Return when everything answers, or after ``SAYS_AFTER_S`` with a warning."""
        deadline = _monotonic() + SAYS_AFTER_S
        missing = self._announce()
        while missing and not self._must_stop():
            self._watch_children()
            if _monotonic() > deadline:
                self._warn(
                    f"Not everything works after {SAYS_AFTER_S:.0f} s: {missing}. "
                    "fsbench keeps waiting for it."
                )
                return
            self._pause(0.3)
            missing = self._announce()

    def _announce(self) -> str:
        """Say that the site is ready if it is; else return what is missing."""
        healthy, answer = self._health()
        if not healthy:
            return answer
        for line in self._announcement:
            self._echo(line)
        self._announcement = ()
        return ""

    def _warn(self, sentence: str) -> None:
        console.announce(self._echo, sentence, logging.WARNING)

    def _health(self) -> tuple[bool, str]:
        """Whether everything answers, else what is missing."""
        # Under a name that ALLOWED_HOSTS has.
        names = (name for name in settings.ALLOWED_HOSTS if name.strip("*.") == name)
        return health_check.ask_at(self._health_url, next(names, "localhost"))

    def _supervise(self) -> None:
        """Restart children that end, and say when the program's files have changed."""
        check_files_at = 0.0
        while not self._must_stop():
            self._watch_children()
            if self._announcement:
                self._announce()
            if time.monotonic() >= check_files_at:
                check_files_at = time.monotonic() + CHECKS_FILES_EVERY_S
                self._check_own_files()
            self._pause(1)

    def _check_own_files(self) -> None:
        if not self._files_have_changed and program_files.have_changed():
            self._files_have_changed = True
            self._warn(program_files.NEEDS_A_RESTART)

    def _end_children(self) -> None:
        started = [child for child in self.children if child.is_running]
        if started:
            self._echo("Stopping ...")
        # Web processes close it at once, too, so that a proxy retries elsewhere. A service manager
        # keeps its own.
        self._listening.close()
        for child in started:
            child.terminate()
        for child in started:
            if not child.end():
                self._warn(
                    f"The {child.name} did not end within {child.end_within_s:.0f} s "
                    "and was killed."
                )


@contextmanager
def _shared_counters(processes: int) -> Iterator[None]:
    """A folder in which several web processes count requests together (operations.metrics)."""
    if processes == 1:
        yield
        return
    with TemporaryDirectory(prefix="fsbench-counters-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        try:
            yield
        finally:
            del os.environ["PROMETHEUS_MULTIPROC_DIR"]


def _is_make_that_catches_interrupts(status: Path) -> bool:
    """Read from /proc/PID/status: the name and the mask of caught signals (proc(5))."""
    try:
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        caught_signals = int(fields["SigCgt"], 16)
    except (OSError, ValueError, KeyError):
        return False
    return fields["Name"] in ("make", "gmake") and bool(caught_signals >> (signal.SIGINT - 1) & 1)
