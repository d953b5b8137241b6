"""Commands of a run, planned. Pure: no Django."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedCommand:
    """One command as an argument list.

    ``phase``: wipe, discard, precondition, probe, layer, journal, mkfs, mount, fill, layout,
    overlay, nfs, smb, pool, benchmark, sync, unmount or teardown. ``stdin`` is what the command
    reads, ``output`` the name of the raw output that is kept of it, ``timeout_s`` its own limit
    where it has one. Without what ``may_fail`` the run goes on.
    """

    phase: str
    argv: tuple[str, ...]
    stdin: str = ""
    output: str = ""
    timeout_s: float | None = None
    may_fail: bool = False


@dataclass(frozen=True)
class FilesystemCommands:
    """What makes and mounts a file system, and what becomes of it later.

    ``between`` is between unmounting and remounting; ``check`` is behind the benchmark.
    """

    make: Sequence[PlannedCommand]
    mount: PlannedCommand
    between: Sequence[PlannedCommand] = ()
    check: Sequence[PlannedCommand] = ()
    teardown: Sequence[PlannedCommand] = ()
