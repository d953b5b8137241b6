"""The worker process: heartbeats, and Celery in the same process, a thread for each LUN."""

import contextlib
import logging
import threading
import time
import warnings
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from celery.apps.worker import install_worker_term_handler  # type: ignore[attr-defined]
from celery.signals import worker_ready, worker_shutting_down
from celery.worker import state as celery_state
from django.conf import settings
from django.db import close_old_connections, connection

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.celery import app
from fsbench_web.platform import clock, table_version
from fsbench_web.studies.runs import leases, lifecycle, queue
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.runs.windows import closing
from runner import leftovers
from runner.execution import finish
from runner.executors.base import ExecutorAway
from runner.setup.setup import Setup
from runner.worker import Host

logger = logging.getLogger("fsbench.worker")

# A LUN that was mounted or unplugged is noticed within this time, and again before every run.
REFRESH_EVERY_S = 30.0
HEARTBEAT_FILE = "heartbeat"
# A package that was put into the folder of guest kernels is booted within this time.
LOOK_AT_KERNELS_EVERY_S = 5.0
# How far an installation is changes quickly, and nothing but that is told so often.
SET_UP_EVERY_S = 1.0
# Of a living worker so many heartbeats are not missing, one after another.
MISSED = 3
_host: Host | None = None
_setup: Setup | None = None


def host() -> Host:
    """The host this process works for. Raises RuntimeError outside of ``serve``."""
    if _host is None:
        raise RuntimeError("runs are executed by `manage.py worker` only")
    return _host


class NameTaken(RuntimeError):
    """A worker of this name lives on another host; the text says what to do."""


def _wait_for_namesake(host: Host) -> None:
    """Wait until another host's worker of this name is silent for long enough. Raises NameTaken.

    Two would end each other's runs, and people would confirm the wrong disk. The last heartbeat is
    not enough, because the database's clock may have been set.
    """
    silent_after = timedelta(seconds=settings.WORKER_SILENT_AFTER_S)
    whole_silence_s = silent_after.total_seconds()
    deadline = time.monotonic() + 1.5 * whole_silence_s
    heartbeats = clock.ChangeWatch()
    is_reported = False
    while True:
        namesake = Worker.objects.filter(name=host.name).first()
        if namesake is None or not _is_elsewhere(namesake, host):
            return
        seen_at = namesake.seen_at
        [silent_s] = heartbeats.unchanged_s(partial(dict, [(namesake.pk, seen_at)])).values()
        is_long_ago = seen_at < clock.now() - silent_after
        if silent_s > (MISSED * settings.WORKER_HEARTBEAT_S if is_long_ago else whole_silence_s):
            return
        if time.monotonic() > deadline:
            raise NameTaken(_name_taken(host))
        if not is_reported:
            logger.warning(
                "a worker with the name %s sent a heartbeat on another host: waiting for %s s "
                "without one",
                host.name,
                settings.WORKER_SILENT_AFTER_S,
            )
            is_reported = True
        time.sleep(0.5)


def _is_elsewhere(namesake: Worker, host: Host) -> bool:
    """Whether the last who announced a worker of this name was another host."""
    return namesake.capabilities.get("host_mark") not in (None, host.mark)


def _name_taken(host: Host) -> str:
    return (
        f"A worker with the name {host.name} lives on another host: give this one a name of its "
        "own with FSBENCH_WORKER."
    )


def _yield_name(host: Host) -> bool:
    """End this worker if one of its name began later on another host."""
    namesake = Worker.objects.filter(name=host.name).first()
    if namesake is None or not _is_elsewhere(namesake, host):
        return False
    if not host.stopping.is_set():
        logger.critical("this worker ends. %s", _name_taken(host))
    host.has_lost_name = True
    host.stopping.set()
    # As Celery's handler of SIGTERM does, with the status of a failure.
    celery_state.should_stop = 1  # type: ignore[assignment]
    return True


def begin(host: Host) -> Worker:
    """Take over from an earlier worker of this name, and announce. Raises NameTaken."""
    _wait_for_namesake(host)
    removed = _clean_up(host)
    host.start()
    worker = announce(host.announcement(has_started=True))
    host.has_taken_over = removed is not None
    if removed is not None:
        _recover_runs(host, worker, removed)
    return worker


def _clean_up(host: Host) -> list[str] | None:
    """What was removed; None when the executor is away, and everything has to stay as it is."""
    try:
        removed = host.executor.clean_up(host.name)
        if host.guests is not None:
            # Their containers are others where the worker's own executor has none.
            with contextlib.suppress(ExecutorAway):
                removed += host.guests.clean_up(host.name)
    except ExecutorAway as error:
        logger.error("what an earlier worker left cannot be removed yet: %s", error)
        return None
    if removed:
        logger.warning("removed what an earlier worker left: %s", ", ".join(removed))
    leftovers.restore_host_settings(host)
    leftovers.remove_traces(host)
    return removed


def _recover_runs(host: Host, worker: Worker, removed: list[str]) -> None:
    """Store what an earlier worker had measured, and end as lost what it was running."""
    # A LUN is free only when the last block of what was mounted is written back, also where that
    # ended by itself: with its lease another host may have the disk.
    host.wait_until_free(None if removed else leases.held_luns(worker))
    finished = finish.finish_spooled(host.spool_folder, host.stopping.is_set)
    if finished:
        logger.warning("runs measured by an earlier worker and stored now: %s", finished)
    parts.abandon(host.name)
    lost = lifecycle.recover(worker)
    if lost:
        logger.warning("runs lost with an earlier worker: %s", lost)
    host.has_taken_over = True


def send_heartbeat(host: Host) -> None:
    """Announce the host, end what other workers lost, repeat messages that may be lost."""
    if _yield_name(host):
        return
    host.check_executor()
    host.recheck_luns()
    worker = announce(host.announcement())
    # For health checks that must not cost a benchmark anything: a look at the file's age.
    (host.config.data_folder / HEARTBEAT_FILE).touch()
    if not host.has_taken_over and host.capabilities.is_usable:
        removed = _clean_up(host)
        if removed is not None:
            _recover_runs(host, worker, removed)
    elif host.has_taken_over:
        leftovers.remove_leftovers(host)
    lifecycle.reap_lost(host.lease_watch)
    closing.end_expired_runs()
    if host.has_taken_over and not host.stopping.is_set():
        lifecycle.resend(worker)


def refresh_kernels(host: Host) -> None:
    """Fetch the kernel that was asked for, boot those that are new, while no run has its turn."""
    if host.guests is not None:
        may_begin = partial(_is_idle, host)
        host.guests.fetch.look(may_begin, lambda: not host.stopping.is_set())
        host.guests.look(may_begin)


def _is_idle(host: Host) -> bool:
    """Whether no run is carried out and none could begin now."""
    if host.stopping.is_set() or host.is_measuring or host.carried_out():
        return False
    worker = Worker.objects.filter(name=host.name).first()
    runs = queue.startable(worker) if worker is not None else []
    # Those that wait for a kernel's first boot do not hold it up.
    return all(host.why_wait(Machine.of(run.series.machine)) for run in runs)


def fetch_guest_kernel(package: str) -> None:
    """Note that this package is wanted; ``refresh_kernels`` gets it."""
    guests = host().guests
    if guests is not None:
        guests.fetch.ask(package)


def set_up(host: Host) -> None:
    """Go on with what the worker does to be able to do more."""
    if _setup is not None:
        _setup.look()


def _repeat(host: Host, every_s: float, work: Callable[[Host], None]) -> threading.Thread:
    def loop() -> None:
        while not host.stopping.wait(every_s):
            close_old_connections()
            try:
                work(host)
            except Exception:
                # A database or broker that is away comes back; this thread must live to see it.
                logger.exception("%s failed; it is tried again", work.__name__)
        connection.close()

    thread = threading.Thread(target=loop, name=work.__name__, daemon=True)
    thread.start()
    return thread


def _end_quietly(worker: Any) -> None:
    """Let SIGTERM end the Celery worker without its words for it: `make run` says what it does."""

    def install(**_: Any) -> None:
        install_worker_term_handler(worker, verbose=False)

    # Celery installs its own handlers while it starts.
    worker_ready.connect(install, weak=False)


def _look_once(look: Callable[[], None]) -> None:
    try:
        look()
    except Exception:
        logger.exception("set_up failed; it is tried again")


def serve(host: Host, echo: Callable[[str], None] = logger.info) -> int:
    """Work until SIGTERM or SIGINT. Returns the exit status. ``echo`` tells anyone who started
    it.
    """
    global _host, _setup
    if problem := table_version.problem():
        raise RuntimeError(problem)
    table_version.note()
    setup = Setup(host, echo)
    _look_once(setup.foresee)
    worker = begin(host)
    _host, _setup = host, setup
    # Before the first run is in turn: what is to be installed is not held up by a long queue.
    _look_once(setup.look)

    def stop(**_: Any) -> None:
        host.stopping.set()

    worker_shutting_down.connect(stop, weak=False)
    beats = [
        _repeat(host, settings.WORKER_HEARTBEAT_S, send_heartbeat),
        _repeat(host, REFRESH_EVERY_S, Host.refresh),
        _repeat(host, LOOK_AT_KERNELS_EVERY_S, refresh_kernels),
        _repeat(host, SET_UP_EVERY_S, set_up),
    ]
    # It is meant: root owns the disks.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    app.loader.import_task_module("runner.tasks")
    if host.has_taken_over:
        lifecycle.resend(worker)
    celery_worker = app.Worker(
        hostname=f"fsbench@{host.name}",
        queues=[worker.queue],
        pool="threads",
        concurrency=max(1, worker.luns.filter(is_listed=True).count()),
        loglevel="WARNING",
        without_mingle=True,
        without_gossip=True,
        quiet=True,
    )
    _end_quietly(celery_worker)
    connection.close()
    try:
        celery_worker.start()
    finally:
        host.stopping.set()
        setup.stop()
        for beat in beats:
            beat.join(timeout=5)
        host.stop()
    if host.has_lost_name:
        raise NameTaken(_name_taken(host))
    return int(celery_worker.exitcode or 0)
