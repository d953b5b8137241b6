"""Commands of a run, planned. Pure: no Django."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedCommand:
    """One command as an argument list, in a phase (wipe, mkfs, mount, benchmark, ...).

    ``stdin`` is what it reads, ``output`` the name of the raw output that is kept, ``timeout_s``
    its own limit. Without what ``may_fail`` the run goes on.
    """

    phase: str
    argv: tuple[str, ...]
    stdin: str = ""
    output: str = ""
    timeout_s: float | None = None
    may_fail: bool = False


@dataclass(frozen=True)
class FilesystemCommands:
    """Makes and mounts a file system; ``between`` unmounting and mounting; ``check`` at the end."""

    make: Sequence[PlannedCommand]
    mount: PlannedCommand
    between: Sequence[PlannedCommand] = ()
    check: Sequence[PlannedCommand] = ()
    teardown: Sequence[PlannedCommand] = ()
