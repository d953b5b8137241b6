"""Find what dead workers of this host left behind, and remove it on demand.

Nothing of a living worker (it holds its lock), or that does not say it is fsbench's own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.db.models import Q

from fsbench_web.catalog.configurations.filesystems import OWN_LABEL
from fsbench_web.catalog.models import Worker
from fsbench_web.celery import app
from fsbench_web.core.workloads import MOUNT_POINT
from fsbench_web.studies.models import Lease, Run, RunState
from fsbench_web.studies.runs import lifecycle
from runner.config import WorkerConfig
from runner.execution import spool
from runner.executors.base import ExecutorAway
from runner.executors.docker import DockerExecutor
from runner.host import layer_marks
from runner.host.hardware import host_mark
from runner.host.tracing import block_events, operation_events
from runner.host.tuning import processors, scheduler_notes
from runner.safety import blockdev, locks, signatures, sparse
from runner.safety.blockdev import ToolError
from runner.safety.luns import LunEntry, read_luns


@dataclass(frozen=True)
class Orphan:
    """Something left behind. ``remove`` is None where a person has to do it; ``what`` says how."""

    kind: str
    description: str
    remove: Callable[[], object] | None


def lock_of(name: str, site: str) -> str:
    """The lock that a worker holds as long as it lives."""
    return f"{name}-{site}"


def is_alive(name: str, site: str) -> bool:
    """Whether a worker of this name and site runs on this host."""
    try:
        with locks.worker_lock(lock_of(name, site)):
            return False
    except locks.LockedElsewhere:
        return True


def find(config: WorkerConfig) -> Iterator[Orphan]:
    """Everything that was left, in the order of removal. Raises LunFileError, and ExecutorAway."""
    entries = read_luns(config.lun_file, config.lun_file_must_exist)
    alive = is_alive(config.name, config.site)
    yield from _containers(config)
    yield from _mounts(entries, alive)
    if not alive:
        yield from _traces(config)
        yield from _pools()
        yield from _layers(entries)
        yield from _schedulers(config)
        yield from _processors(config)
    yield from _loops(config, entries, alive)
    if not alive:
        yield from _spooled(config)
        yield from _leases(config)
        yield from _messages(config.name)


def _containers(config: WorkerConfig) -> Iterator[Orphan]:
    """Containers of this site with a dead worker or a finished run."""
    executor = DockerExecutor(config.image, config.site)
    try:
        containers = executor.containers()
    except ExecutorAway:
        if config.executor == "docker":
            raise
        return
    for container in containers:
        worker = container.labels.get("fsbench.worker", "")
        number = container.labels.get("fsbench.run", "")
        run = Run.objects.filter(pk=int(number)).first() if number.isdigit() else None
        if is_alive(worker, config.site) and (run is None or not run.has_ended):
            continue
        state = f", {run.state}" if run else ""
        yield Orphan(
            "container",
            f"{container.name} of worker {worker}, run {number}{state}",
            lambda container=container: executor.remove(container),  # type: ignore[misc]
        )


def _mounts(entries: list[LunEntry], alive: bool) -> Iterator[Orphan]:
    """File systems on listed LUNs with fsbench's label and mount point, in the host's namespace."""
    if alive:
        return
    devices: dict[int, str] = {}
    for entry in entries:
        for device in _devices(entry):
            number = blockdev.device_number(device)
            if number is not None:
                devices[number] = entry.name
    mounts = blockdev.own_mounts()
    for mount in mounts:
        for number in mount.numbers & set(devices):
            description = f"{mount.filesystem} of LUN {devices[number]} on {mount.point}"
            if _is_on_top(number, mounts) and mount.point == MOUNT_POINT and _has_own_label(number):
                yield Orphan(
                    "mount",
                    description,
                    lambda number=number: _unmount(number),  # type: ignore[misc]
                )
            else:
                yield Orphan(
                    "mount", f"{description}: not made by fsbench, unmount it by hand", None
                )


def _is_on_top(number: int, mounts: list[blockdev.Mount]) -> bool:
    """Whether what umount(8) would take away at fsbench's mount point stands on this device."""
    on_top = {mount.point: mount.numbers for mount in mounts}  # in their order, the last wins
    return number in on_top.get(MOUNT_POINT, ())


def _unmount(number: int) -> None:
    """Checks again who made that mount."""
    with locks.device_lock(Path(blockdev.path_of(number))):
        if not _is_on_top(number, blockdev.own_mounts()):
            raise ToolError(f"Something else is mounted on {MOUNT_POINT} by now: look again.")
        blockdev.run_tool("umount", MOUNT_POINT)


def _traces(config: WorkerConfig) -> Iterator[Orphan]:
    """What a killed worker's traces have left: buffers in the kernel, and bpftrace."""
    owned = block_events.instance_prefix(config.site, config.name)
    for instance in block_events.leftover_instances(owned, lambda run: False):
        yield Orphan(
            "trace",
            str(instance),
            lambda instance=instance: block_events.remove(instance),  # type: ignore[misc]
        )
    for process, name in operation_events.leftover_traces(owned, lambda run: False):
        yield Orphan(
            "trace",
            f"bpftrace, process {process}, of {name}",
            lambda process=process: operation_events.remove(process),  # type: ignore[misc]
        )


def _pools() -> Iterator[Orphan]:
    """Nobody else's pool is meant by this name, but its data are data: a person destroys it."""
    for name in layer_marks.leftover_pools():
        yield Orphan(
            "pool",
            f"{name}, imported by this host's ZFS from a LUN: look what it holds (zpool status "
            f"{name}), then take it away by hand (zpool destroy {name})",
            None,
        )


def _layers(entries: list[LunEntry]) -> Iterator[Orphan]:
    """Arrays and mappings that this host made of what a guest left on LUNs, then their marks."""
    luns = {
        number: (entry.name, device)
        for entry in entries
        for device in _devices(entry)
        if (number := blockdev.device_number(device)) is not None
    }
    for layer in layer_marks.assembled_devices(luns):
        names = ", ".join(sorted(luns[number][0] for number in layer.luns))
        yield Orphan("layer", f"{layer.name} on {names}", layer.disassemble)
    for name, device in luns.values():
        try:
            kinds = layer_marks.layers_on(device)
        except (ToolError, OSError):
            continue
        if kinds:
            yield Orphan(
                "layer",
                f"{', '.join(kinds)} of LUN {name}",
                lambda device=device: _wipe(device),  # type: ignore[misc]
            )


def _wipe(device: str) -> None:
    with locks.device_lock(Path(device)):
        layer_marks.wipe(device)


def _schedulers(config: WorkerConfig) -> Iterator[Orphan]:
    """Settings that runs did not restore; before the loop devices go."""
    folder = config.scheduler_notes
    for _, note in scheduler_notes.pending(folder):
        yield Orphan(
            "scheduler",
            f"{note.wanted} of the disk {blockdev.as_text(note.number)}, which was {note.before}",
            lambda: scheduler_notes.restore_schedulers(folder),
        )


def _processors(config: WorkerConfig) -> Iterator[Orphan]:
    """Governor and turbo that runs of the dead have set, on a host that wants them held."""
    folder = config.processor_notes
    if processors.is_leftover(folder):
        yield Orphan(
            "processors",
            "governor and turbo as killed runs held them",
            lambda: processors.restore_settings(folder),
        )


def _has_own_label(number: int) -> bool:
    try:
        device_signatures = signatures.of(blockdev.path_of(number))
    except ToolError:
        return False
    return any(signature.label == OWN_LABEL for signature in device_signatures)


def _devices(entry: LunEntry) -> list[str]:
    if entry.kind == "device":
        return [str(entry.path)]
    if entry.kind == "sparse-file" and entry.path.is_file():
        return [str(device["name"]) for device in sparse.attached_loops(entry.path)]
    return []


def _loops(config: WorkerConfig, entries: list[LunEntry], alive: bool) -> Iterator[Orphan]:
    """Loop devices on sparse files of the list, or of fsbench's data folder, without a worker."""
    files = {entry.path for entry in entries if entry.kind == "sparse-file"}
    listed = {_identity(path) for path in files if path.is_file()}
    for device, text in sparse.backing_files():
        path = Path(text.removesuffix(sparse.DELETED))
        is_deleted = text.endswith(sparse.DELETED)
        if is_deleted:
            is_listed, is_own = path in files, path.is_relative_to(config.data_folder)
        elif path.is_file():
            is_listed = _identity(path) in listed
            is_own = path.is_relative_to(config.data_folder) and sparse.was_made_here(path)
        else:
            continue
        # Of a living worker, or perhaps of another site on this host.
        if (is_listed and alive) or not (is_listed or is_own):
            continue
        loop = sparse.Loop(device, is_ours=True)
        yield Orphan(
            "loop device",
            f"{device} on {text}",
            lambda loop=loop, path=path: _detach(loop, path),  # type: ignore[misc]
        )


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _detach(loop: sparse.Loop, path: Path) -> None:
    with locks.device_lock(Path(loop.device)):
        problem = sparse.detach(loop, path)
    if problem:
        raise ToolError(problem)


def _spooled(config: WorkerConfig) -> Iterator[Orphan]:
    """Output that was measured and not stored. It is good as long as its run is not ended: then it
    is the next start of the worker that stores it.
    """
    for path, is_of_use in spool.files_by_use(config.data_folder / "spool" / config.name):
        if is_of_use:
            yield Orphan("output", f"{path}: start the worker, which stores it", None)
        else:
            yield Orphan("output", f"{path} of a run that has ended", path.unlink)


def _leases(config: WorkerConfig) -> Iterator[Orphan]:
    """Leases of a worker that does not live, unless one of its name was last on another host."""
    worker = Worker.objects.filter(name=config.name).first()
    if worker is None or worker.capabilities.get("host_mark") not in (None, host_mark()):
        return
    leases = Lease.objects.filter(worker=worker).exclude(run=None)
    runs = sorted(set(leases.values_list("run_id", "run__state")))
    for run_id, state in runs:
        yield Orphan(
            "lease",
            f"run {run_id}, {state}, which ends as lost",
            lambda: _end_as_lost(worker, config),
        )


def _end_as_lost(worker: Worker, config: WorkerConfig) -> None:
    """Raises LockedElsewhere where the worker was started meanwhile: its leases are its own."""
    with locks.worker_lock(lock_of(config.name, config.site)):
        lifecycle.recover(worker)


def _messages(name: str) -> Iterator[Orphan]:
    """Messages of a dead worker's queue for runs that do not wait. Reading puts all others back."""
    for run_id in _useless_messages(name, remove=False):
        yield Orphan(
            "message",
            f"for run {run_id}, which does not wait",
            lambda: _useless_messages(name, remove=True),
        )


def _useless_messages(name: str, remove: bool) -> list[int]:
    run_ids, requeued = [], []
    with app.connection_for_write(connect_timeout=5) as connection:
        queue = app.amqp.queues[f"host.{name}"](connection.channel())
        queue.declare()
        while (message := queue.get(no_ack=False)) is not None:
            run_id = _run_of(message.payload)
            waits = Run.objects.filter(Q(pk=run_id), state=RunState.QUEUED).exists()
            if not waits:
                run_ids.append(run_id)
            if remove and not waits:
                message.ack()
            else:
                requeued.append(message)
        for message in requeued:
            message.requeue()
    return run_ids


def _run_of(payload: object) -> int:
    try:
        return int(payload[0][0])  # type: ignore[index]
    except (TypeError, ValueError, LookupError):
        return 0
