"""Keeps the web process and the worker running until it is told to stop."""

import json
import logging
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import FrameType

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from fsbench_web.accounts.sign_in import sessions
from fsbench_web.compare.permalinks import sharing
from fsbench_web.compare.watches import watching
from fsbench_web.imports import uploads
from fsbench_web.operations import chores
from fsbench_web.platform import program_files
from fsbench_web.serving import console
from fsbench_web.serving.children import Child
from fsbench_web.serving.web import BACKLOG, GRACE_S
from fsbench_web.studies.runs import lifecycle, logs
from fsbench_web.studies.scores import rejudging

logger = logging.getLogger("fsbench.serve")

# More than a web process gives to the answers that are under way.
WEB_END_S = GRACE_S + 5.0
# A web process that does not answer after this holds up the others no longer.
WEB_START_S = 60.0
# A worker that ends in mid-run stops its container, unmounts and frees the LUN first.
WORKER_END_S = 45.0
MAINTENANCE_EVERY_S = 600.0
FIRST_GIVEN_SOCKET = 3  # SD_LISTEN_FDS_START
BACKGROUND_EVERY_S = 60.0
# Of each time: of a large site, judging all results anew takes hours after some updates.
JUDGES_FOR_S = 10.0
# After this somebody is told what is missing at the start.
SAYS_AFTER_S = 60.0
_monotonic = time.monotonic


# What is to go after a time.
CHORES = (
    ("Logs of ended runs", logs.run_maintenance),
    ("Snapshots of permalinks", sharing.run_maintenance),
    ("Uploads that nobody imported", uploads.remove_expired),
    ("Sessions that ended", sessions.remove_ended),
)


def do_maintenance() -> None:
    """Each chore by itself: one that cannot be done keeps neither the others nor the site from
    theirs, and is tried again.
    """
    for name, work in CHORES:
        _try(name, partial(chores.run_chore, name, work))


class AddressInUse(Exception):
    """The address cannot be listened on; the text says why and what to do."""


class GivenSocket(socket.socket):
    """A port that a service manager keeps, before and after this program."""


def open_socket(host: str, port: int) -> socket.socket:
    """Listen on the address; port 0 takes a free one. Raises AddressInUse.

    Where a service manager keeps the port, its socket is taken instead (sd_listen_fds(3)): what
    comes while this program is started anew waits there.
    """
    if os.environ.get("LISTEN_PID") == str(os.getpid()) and os.environ.get("LISTEN_FDS") == "1":
        # For this process alone; children get what they need by number.
        del os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"]
        return GivenSocket(fileno=FIRST_GIVEN_SOCKET)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AddressInUse(
            f"{host}:{port} cannot be used: {reason}. "
            f"Choose another port: make run PORT={port + 1 if port < 65535 else 8000}"
        ) from None


def address_of(listening: socket.socket) -> str:
    """The address to type into a browser."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def local_url(host: str, port: int) -> str:
    """Where this machine itself reaches what listens there; all addresses are also the loopback."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Supervisor:
    """Starts web and worker, tells when they answer, restarts them, ends them on a signal."""

    def __init__(
        self,
        listening: socket.socket,
        *,
        processes: int,
        with_worker: bool,
        echo: Callable[[str], None],
    ):
        self._listening = listening
        self._lease_watch = lifecycle.LeaseWatch()
        manage = str(settings.BASE_DIR / "manage.py")
        descriptor = listening.fileno()
        self.webs = [
            Child(
                "web process" if processes == 1 else f"web process {number}",
                [sys.executable, "-m", "fsbench_web.serving.web", str(descriptor)],
                pass_fds=[descriptor],
                tells_ready=True,
            )
            for number in range(1, processes + 1)
        ]
        self.children = [*self.webs, Child("importer", [sys.executable, manage, "importer"])]
        self._with_worker = with_worker
        if with_worker:
            self.children.append(Child("worker", [sys.executable, manage, "worker"]))
        self._address = local_url(*listening.getsockname()[:2])
        self._echo = echo
        self._stopping = False
        self._renewing = False
        self._background: Thread | None = None
        self._all_judged = False
        self._told_of_files = False
        self._announcement: Sequence[str] = ()
        self._parent = Path(f"/proc/{os.getppid()}/status")
        self._parent_was_make = _is_make_that_catches_interrupts(self._parent)

    def run(self, announcement: Sequence[str]) -> None:
        """Return after SIGINT or SIGTERM, when all children have ended.

        ``announcement`` is said once everything answers, whenever that is.
        """
        self._announcement = announcement
        previous = {
            number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)
        }
        previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._renew)
        program_files.note()
        counters = _shared_counters() if len(self.webs) > 1 else None
        try:
            for child in self.children:
                child.start()
            self._wait_for_health()
            self._supervise()
        finally:
            self._end_children()
            for number, handler in previous.items():
                signal.signal(number, handler)
            if counters is not None:
                counters.cleanup()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _renew(self, number: int, frame: FrameType | None) -> None:
        self._renewing = True

    def _renew_webs(self) -> None:
        """On SIGHUP: the next one is ended when the one before it works, so that one always does.

        Of a single process what comes meanwhile waits in the socket's backlog. Not with files of
        another version: neither static files nor tables are made for them before a start.
        """
        self._renewing = False
        if program_files.have_changed():
            self._told_of_files = True
            self._warn(f"The web processes were not started anew. {program_files.NEEDS_A_RESTART}")
            return
        for child in self.webs:
            child.terminate()
            child.end(WEB_END_S)
            if self._must_stop():
                return
            child.start()
            deadline = _monotonic() + WEB_START_S
            while not child.is_settled and not self._must_stop() and _monotonic() < deadline:
                time.sleep(0.05)
        self._echo("The web processes were started anew.")

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
        for child in self.children:
            sentence = child.watch()
            if sentence:
                self._warn(sentence)

    def _wait_for_health(self) -> None:
        """Look often at the start; what then is missing is named, and waited for more patiently."""
        deadline = _monotonic() + SAYS_AFTER_S
        missing = self._announce()
        while missing and not self._must_stop():
            if self._renewing:
                self._renew_webs()
            self._watch_children()
            if _monotonic() > deadline:
                self._warn(
                    f"Not everything works after {SAYS_AFTER_S:.0f} s: {missing}. "
                    "What is missing is waited for."
                )
                return
            self._pause(0.3)
            missing = self._announce()

    def _announce(self) -> str:
        """Say that it is ready, once that is true; else return what is missing."""
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
        """Whether web, database, broker and a worker of our own answer, else what is missing."""
        # Asked from this machine, under a name that ALLOWED_HOSTS has.
        host = next(
            (name for name in settings.ALLOWED_HOSTS if name.strip("*.") == name), "localhost"
        )
        # The worker of another host may come in an hour, or never: the web is ready without it.
        path = "/api/v1/health" if self._with_worker else "/api/v1/health/ready"
        request = urllib.request.Request(f"{self._address}{path}", headers={"Host": host})  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=5) as response:  # noqa: S310
                body = json.load(response)
        except urllib.error.HTTPError as error:
            return False, f"the health check says {error.code}: {error.read(500).decode()}"
        except (OSError, ValueError) as error:
            return False, f"the web process does not answer ({error})"
        return body.get("status") == "ok", str(body)

    def _supervise(self) -> None:
        """Watch the children; end runs whose worker went silent; keep house."""
        maintenance_at = time.monotonic() + MAINTENANCE_EVERY_S
        background_at = time.monotonic()
        while not self._must_stop():
            if self._renewing:
                self._renew_webs()
            self._watch_children()
            if self._announcement:
                self._announce()
            if time.monotonic() >= background_at:
                background_at = time.monotonic() + BACKGROUND_EVERY_S
                self._work_in_background()
                self._check_own_files()
            try:
                close_old_connections()
                lifecycle.reap_lost(self._lease_watch)
                lifecycle.end_expired_runs()
                if time.monotonic() >= maintenance_at:
                    maintenance_at = time.monotonic() + MAINTENANCE_EVERY_S
                    do_maintenance()
            except DatabaseError as error:
                logger.warning("the database does not answer: %s", error)
            self._pause(min(settings.WORKER_HEARTBEAT_S, 5))

    def _work_in_background(self) -> None:
        """On a thread: a receiver that is slow to answer must not keep a crashed child waiting.

        It may die with this process at any moment: what it did not finish is taken up again.
        """
        if self._background is None or not self._background.is_alive():
            self._background = Thread(target=self._in_background, name="background", daemon=True)
            self._background.start()

    def _check_own_files(self) -> None:
        if not self._told_of_files and program_files.have_changed():
            self._told_of_files = True
            self._warn(program_files.NEEDS_A_RESTART)

    def _in_background(self) -> None:
        _try("watches", watching.run_maintenance)
        if not self._all_judged:
            _try("quality flags", self._judge)
        connections.close_all()

    def _judge(self) -> None:
        """Some of what an update left to be judged, until all is: once is enough for a start."""
        count, self._all_judged = rejudging.judge_waiting(JUDGES_FOR_S)
        if count:
            logger.info("%d series were judged anew by the present rules", count)

    def _end_children(self) -> None:
        started = [child for child in self.children if child.is_running]
        if started:
            self._echo("Stopping ...")
        self._refuse_others()
        for child in started:
            child.terminate()
        for child in started:
            within_s = WEB_END_S if child in self.webs else WORKER_END_S
            if not child.end(within_s):
                self._warn(f"The {child.name} did not end within {within_s:.0f} s and was killed.")

    def _refuse_others(self) -> None:
        """Close the port now, where it is our own: nobody would answer who comes from here on.

        Answers may take seconds yet, and connections that wait in the backlog meanwhile would be
        dropped with it. A refused one is tried again by a proxy, whatever was to be asked.
        """
        if not isinstance(self._listening, GivenSocket):
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)  # for all processes that share it


def _shared_counters() -> TemporaryDirectory[str]:
    """Where the web processes count requests together, for /metrics (operations.metrics)."""
    folder = TemporaryDirectory(prefix="fsbench-counters-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder.name
    return folder


def _try(subject: str, work: Callable[[], object]) -> None:
    try:
        work()
    except DatabaseError as error:
        logger.warning("%s wait, the database does not answer: %s", subject, error)
    except Exception:
        logger.exception("%s: it is tried again in some minutes", subject)


def _is_make_that_catches_interrupts(status: Path) -> bool:
    """Read from /proc/PID/status: the name and the mask of caught signals (proc(5))."""
    try:
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        caught_signals = int(fields["SigCgt"], 16)
    except (OSError, ValueError, KeyError):
        return False
    return fields["Name"] in ("make", "gmake") and bool(caught_signals >> (signal.SIGINT - 1) & 1)
