"""What a pool of ZFS needs next to zpool(8): ``zpool.py nodes FOLDER /dev/vda ...``, ``zpool.py arc
MIB`` and ``zpool.py healthy POOL``.

Stdlib only. Source: zpool-create(8), zpool-status(8), zfs(4) of OpenZFS 2.1 and 2.3.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

ARC_MAX = Path("/sys/module/zfs/parameters/zfs_arc_max")
ARC_STATS = Path("/proc/spl/kstat/zfs/arcstats")
COLUMNS = ["NAME", "STATE", "READ", "WRITE", "CKSUM"]
MIB = 1024 * 1024


class ZpoolError(Exception):
    """What was asked for is not so; the text says why."""


def make_nodes(folder: Path, devices: "list[str]") -> None:
    """Other names of these devices in an own folder. Raises OSError.

    By the usual names zpool(8) takes a whole disk and makes a partition table on it.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for device in devices:
        place = folder / Path(device).name
        os.mknod(place, stat.S_IFBLK | 0o600, os.stat(device).st_rdev)  # noqa: PTH116


def limit_arc(mib: int) -> None:
    """What ZFS caches at most. It ignores a limit that it cannot keep to. Raises ZpoolError."""
    ARC_MAX.write_text(str(mib * MIB))
    limit_bytes = arc_max_bytes(ARC_STATS.read_text())
    if limit_bytes != mib * MIB:
        raise ZpoolError(
            f"ZFS does not take {mib} MiB as the limit of its cache (zfs_arc_max), and keeps to "
            f"{limit_bytes // MIB} MiB: choose a limit between 64 MiB and the memory that is there."
        )


def arc_max_bytes(arcstats: str) -> int:
    """``c_max`` of arcstats: lines of name, type and value; 0 where it is missing."""
    for line in arcstats.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "c_max":
            return int(words[2])
    return 0


def arc_limit() -> "dict[str, int]":
    """{"arc_max_bytes": what ZFS caches at most, as it says itself}; empty without ZFS."""
    try:
        return {"arc_max_bytes": arc_max_bytes(ARC_STATS.read_text())}
    except OSError:
        return {}


def check_health(pool: str) -> None:
    """A pool goes on without a device that it has copies of. Raises ZpoolError, where it does."""
    done = subprocess.run(
        ["zpool", "status", "-p", pool], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ZpoolError(f"The pool {pool} cannot be asked: {done.stderr.strip() or 'no answer'}")
    sentences = problems(done.stdout)
    if sentences:
        raise ZpoolError(
            f"The pool is not whole any more, and what was measured is no measure of it: "
            f"{'; '.join(sentences)}."
        )


def problems(status: str) -> "list[str]":
    """What ``zpool status -p`` says of devices that are away or answered wrongly, in words."""
    sentences: list[str] = []
    is_table = False
    for line in status.splitlines():
        words = line.split()
        if words == COLUMNS:
            is_table = True
        elif is_table and (not words or words[0] == "errors:"):
            is_table = False
        elif is_table and len(words) >= 5:
            name, state, *counts = words[:5]
            problems = [state] if state != "ONLINE" else []
            named = zip(("reads", "writes", "checksums"), counts)  # noqa: B905
            problems += [f"{count} wrong {kind}" for kind, count in named if count != "0"]
            if problems:
                sentences.append(f"{name} {', '.join(problems)}")
    if "state: ONLINE" not in status and not sentences:
        sentences.append("zpool status does not say that it is ONLINE")
    return sentences


def main(arguments: "list[str]") -> int:
    try:
        if arguments[:1] == ["nodes"]:
            make_nodes(Path(arguments[1]), arguments[2:])
        elif arguments[:1] == ["arc"]:
            limit_arc(int(arguments[1]))
        elif arguments[:1] == ["healthy"]:
            check_health(arguments[1])
        else:
            sys.stderr.write("zpool.py: say nodes, arc or healthy\n")
            return 2
    except (ZpoolError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
