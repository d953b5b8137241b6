"""One run as a list of steps, as data. Pure: no Django, nothing of the host is touched here.

The commands are those that the preview page shows (catalog.commands).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from fsbench_web.catalog.commands import BENCHMARK_FILE, run_commands
from fsbench_web.catalog.filesystems import filesystem as filesystem_named
from fsbench_web.catalog.filesystems import validated_options
from fsbench_web.catalog.journals import JournalLun
from fsbench_web.catalog.preparation import PLAIN, PRECONDITION_FROM_BYTES, Preparation
from fsbench_web.catalog.workloads import MOUNT_POINT, TESTS, matrix_of

# mkfs writes all inode tables (nothing is left to do in the background), which takes hours on a
# large slow disk; umount may have gigabytes to write back. Writing a whole LUN takes days at most.
TIME_LIMITS_S = {
    "discard": 4 * 3600.0,
    "precondition": 7 * 24 * 3600.0,
    "fill": 7 * 24 * 3600.0,
    "journal": 4 * 3600.0,
    "mkfs": 4 * 3600.0,
    "mount": 600.0,
    "unmount": 3600.0,
}
OUTPUT_NAME = "iozone.txt"


class PlanError(ValueError):
    """What cannot be run at all; the text says why."""


@dataclass(frozen=True)
class Step:
    """One command with its time limit; ``save_output_as`` names the raw output kept of it.

    ``total_bytes`` is how much it writes, where it tells its progress in bytes alone.
    """

    phase: str
    argv: list[str]
    timeout_s: float
    save_output_as: str = ""
    total_bytes: int | None = None


@dataclass(frozen=True)
class RunPlan:
    """Everything the agent needs, and nothing else: it is sent as JSON.

    ``mount_point`` is the folder the benchmark writes into; ``unmount`` is the command that undoes
    the mount, empty when nothing is mounted (directory LUNs). ``journal_device`` is empty where the
    journal is kept on ``device`` itself. ``cells`` are (record KB, file KB) in the order they are
    run.
    """

    steps: list[Step]
    filesystem: str
    device: str
    journal_device: str
    mount_point: str
    unmount: list[str]
    benchmark_file: str
    space_needed_bytes: int
    tools: list[str]
    cells: list[tuple[int, int]]
    tests: list[str]

    @property
    def makes_filesystem(self) -> bool:
        return bool(self.unmount)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def plan_run(
    filesystem: str,
    options: Mapping[str, object],
    tool: str,
    parameters: Mapping[str, object],
    *,
    device: str,
    size_bytes: int | None = None,
    preparation: Preparation = PLAIN,
    is_directory: bool = False,
    journal: JournalLun | None = None,
) -> RunPlan:
    """The plan of one run on ``device`` (as the commands name it; a folder if ``is_directory``).

    Raises OptionError, ParameterError, PreparationError or PlanError with what is wrong.
    """
    if is_directory and options:
        raise PlanError(
            "A directory LUN has the file system it has: no mkfs or mount option can be set there."
        )
    options = validated_options(filesystem, options)
    matrix = matrix_of(tool, parameters)
    mount_point = device.rstrip("/") if is_directory else MOUNT_POINT
    commands = run_commands(
        filesystem,
        options,
        matrix,
        device,
        mount_point,
        not is_directory,
        preparation=preparation,
        size_bytes=size_bytes,
        journal=journal,
    )
    spec = filesystem_named(filesystem)
    return RunPlan(
        steps=[
            Step(
                command.phase,
                list(command.argv),
                TIME_LIMITS_S.get(command.phase, float(matrix.time_limit_s)),
                OUTPUT_NAME if command.phase == "benchmark" else "",
                _bytes_written(command.phase, size_bytes),
            )
            for command in commands
        ],
        filesystem=spec.kernel_name,
        device=device,
        journal_device=journal.device if journal else "",
        mount_point=mount_point,
        unmount=[] if is_directory else ["umount", mount_point],
        benchmark_file=f"{mount_point}/{BENCHMARK_FILE}",
        space_needed_bytes=matrix.space_needed_bytes(),
        tools=[tool] if is_directory else [tool, spec.mkfs[0], "mount"],
        cells=list(matrix.cells()),
        tests=list(TESTS),
    )


def _bytes_written(phase: str, size_bytes: int | None) -> int | None:
    if phase != "precondition" or size_bytes is None:
        return None
    return size_bytes - PRECONDITION_FROM_BYTES
