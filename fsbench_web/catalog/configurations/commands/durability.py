"""How crash points of a configuration are tried, in a guest. Pure: no Django.

Method and limits: docs/method.md#crash-points.
"""

import json
from collections.abc import Iterator, Mapping

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.filesystems import ALL
from fsbench_web.catalog.configurations.networks import network_of
from fsbench_web.catalog.configurations.planned import PlannedCommand
from fsbench_web.core.workloads import MOUNT_POINT

PROGRAM = "fsbench-crash"
PHASE = "durability"
OUTPUT = "durability.jsonl"
MODULES = ("dm_mod", "dm_log_writes", "dm_snapshot")
LEAST_POINTS, MOST_POINTS = 10, 5000
DRAWN_OPERATIONS, SEED = 60, 1
# What the program calls the disk that is logged (runner/agent/crash/disk.py), and its share.
DISK = "/dev/mapper/fsbench-crash-disk"
PARTS, PART_OF_DISK = 16, 5
# Recording, and each point: XFS needs 3 s emulated, and a busy host makes that several times more.
RECORD_S, POINT_S = 900, 15
# What checks an unmounted file system and changes nothing, of those that were tried in guests.
CHECKS = {
    "ext4": ("e2fsck", "-fn"),
    "xfs": ("xfs_repair", "-n"),
    "btrfs": ("btrfs", "check", "--readonly"),
}


def problems(
    filesystem: str, options: Mapping[str, object], is_alone: bool, size_bytes: int | None
) -> Iterator[str]:
    """Why crash points of it cannot be tried. ``is_alone``: on one LUN, journal and all."""
    spec = ALL.get(filesystem)
    if spec is None:
        return  # the configuration itself is refused
    if filesystem not in CHECKS:
        known = ", ".join(CHECKS)
        yield f"Crash points are not tested with {spec.name}: choose from {known}."
    if not is_alone or "overlay" in options or network_of(options) is not None:
        yield (
            "Crash points are of one file system on one LUN: leave out its stack, external "
            "journal, overlay and network."
        )
    needed = spec.minimum_bytes * PARTS // PART_OF_DISK + PARTS * 2**20
    if size_bytes is not None and size_bytes < needed:
        yield f"Crash points of {spec.name} need a LUN of {needed // 2**20} MiB."


def durability_commands(
    filesystem: str, options: Mapping[str, object], device: str, points: int
) -> list[PlannedCommand]:
    """Try so many crash points on ``device``, and lose everything on it; 0: none."""
    if not points:
        return []
    request = {
        "device": device,
        "filesystem": filesystem,
        "mount_point": MOUNT_POINT,
        "mkfs": mkfs_command(filesystem, options, DISK),
        "mount": mount_command(filesystem, options, DISK, MOUNT_POINT),
        "check": CHECKS[filesystem],
        "points": points,
        "seed": SEED,
        "operations": DRAWN_OPERATIONS,
    }
    return [
        PlannedCommand(
            *(PHASE, (PROGRAM,), json.dumps(request), OUTPUT, limit_s(points)), may_fail=True
        )
    ]


def limit_s(points: int) -> float:
    """How long the step may take; 0 without points."""
    return float(RECORD_S + POINT_S * points) if points else 0.0
