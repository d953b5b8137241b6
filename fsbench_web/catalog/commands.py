"""The commands of one run, in order: what the preview shows and the worker runs. Pure: no Django.

Every part comes from the closed lists of ``catalog.filesystems`` and ``catalog.workloads``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fsbench_web.catalog.filesystems import mkfs_command, mount_command
from fsbench_web.catalog.workloads import IozoneMatrix

# The tool writes this file and nothing else: in a directory LUN other files stay untouched.
BENCHMARK_FILE = "fsbench.iozone"


@dataclass(frozen=True)
class PlannedCommand:
    """One command as an argument list. ``phase``: mkfs, mount, benchmark or unmount."""

    phase: str
    argv: tuple[str, ...]


def run_commands(
    filesystem: str,
    options: Mapping[str, object],
    matrix: IozoneMatrix,
    device: str,
    mount_point: str,
    makes_filesystem: bool,
) -> list[PlannedCommand]:
    """The commands of one run on ``device``, which is erased when ``makes_filesystem``.

    A directory LUN has no file system of its own to make: there ``makes_filesystem`` is false,
    ``mount_point`` is the directory, and the benchmark alone is run. Raises OptionError
    (catalog.filesystems) for a file system or option that is not allowed.
    """
    benchmark = PlannedCommand(
        "benchmark", tuple(matrix.command(f"{mount_point.rstrip('/')}/{BENCHMARK_FILE}"))
    )
    if not makes_filesystem:
        return [benchmark]
    mount = mount_command(filesystem, options, device, mount_point)
    return [
        PlannedCommand("mkfs", tuple(mkfs_command(filesystem, options, device))),
        PlannedCommand("mount", tuple(mount)),
        benchmark,
        PlannedCommand("unmount", ("umount", mount_point)),
    ]
