"""One command of a run, planned. Pure: no Django."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedCommand:
    """One command as an argument list.

    ``phase``: wipe, discard, precondition, probe, layer, journal, mkfs, mount, fill, layout,
    overlay, nfs, smb, pool, benchmark, sync, unmount or teardown. A benchmark may be several
    commands and have the file system remounted between them. ``stdin`` is what the command
    reads, ``output`` the name of the raw output that is kept of it, ``timeout_s`` its own limit
    where it has one. Without what ``may_fail`` the run goes on.
    """

    phase: str
    argv: tuple[str, ...]
    stdin: str = ""
    output: str = ""
    timeout_s: float | None = None
    may_fail: bool = False
