"""What killed runs left on this host while the worker lives: a daemon may bring it back."""

import logging

from django.db import InterfaceError, OperationalError

from fsbench_web.accounts import audit
from runner.execution import spool
from runner.executors.base import ExecutorAway
from runner.executors.docker import DockerExecutor
from runner.host.tracing import block_events, operation_events
from runner.host.tuning import processors, scheduler_notes
from runner.worker import Host

logger = logging.getLogger("fsbench.worker")


def remove_leftovers(host: Host) -> list[str]:
    """Remove what belongs to no run that is going on here. Returns the containers' names."""
    restore_host_settings(host)
    remove_traces(host)
    remove_output(host)
    if not host.capabilities.is_usable:
        return []
    # Those of guests have the same labels, and are on the same daemon.
    executor = next(
        (
            candidate
            for candidate in (host.executor, host.guests)
            if isinstance(candidate, DockerExecutor)
        ),
        None,
    )
    if executor is None:
        return []
    try:
        return _remove_containers(host, executor)
    except ExecutorAway as error:
        # Where runs need no daemon, its absence is no news every few seconds.
        level = logging.WARNING if executor is host.executor else logging.DEBUG
        logger.log(level, "what was left cannot be looked for: %s", error)
        return []


def restore_host_settings(host: Host) -> None:
    """Those that a killed worker's runs have set, and its processors; what a run has now is left to
    it.
    """
    for sentence in (
        *scheduler_notes.restore_schedulers(host.config.scheduler_notes),
        *processors.restore_settings(host.config.processor_notes),
    ):
        logger.warning(sentence)


def remove_traces(host: Host) -> None:
    """Traces without an active run here: kernel buffers of a killed reader, and a bpftrace that
    outlived its worker.
    """
    going_on = host.carried_out()
    owned = block_events.instance_prefix(host.config.site, host.name)

    def is_going_on(run: int) -> bool:
        return run in going_on or run in host.carried_out()

    for name in (
        *block_events.remove_leftovers(owned, is_going_on),
        *operation_events.remove_leftovers(owned, is_going_on),
    ):
        logger.warning("removed the trace %s, which a killed worker had left", name)


def remove_output(host: Host) -> None:
    """Of runs with an unwritten end, which count as lost by now."""
    going_on = {spool.file_name(run_id) for run_id in host.carried_out()}
    for path, is_of_use in spool.files_by_use(host.spool_folder):
        if not is_of_use and path.name not in going_on:
            path.unlink(missing_ok=True)
            logger.warning("removed %s: its run has ended without it", path)


def _remove_containers(host: Host, executor: DockerExecutor) -> list[str]:
    # Before the daemon is asked: a run that ends meanwhile removes its container itself.
    going_on = host.carried_out()
    removed = []
    for container in executor.containers():
        number = container.labels.get("fsbench.run", "")
        run_id = int(number) if number.isdigit() else 0
        is_ours = container.labels.get("fsbench.worker") == host.name
        if not is_ours or run_id in going_on or run_id in host.carried_out():
            continue
        executor.remove(container)
        removed.append(str(container.name))
        logger.warning("removed container %s, which run %s had left", container.name, number)
        try:
            audit.note(
                f"worker:{host.name}", "leftover removed", f"container {container.name}", run=run_id
            )
        except (OperationalError, InterfaceError):
            logger.warning("the audit log does not say so: the database does not answer")
    return removed
