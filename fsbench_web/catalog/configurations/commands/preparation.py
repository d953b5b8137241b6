"""What prepares the LUN of a run, fills its file system and looks at both. Pure: no Django."""

from fsbench_web.catalog.configurations.filesystems import filesystem as find_filesystem
from fsbench_web.catalog.configurations.planned import PlannedCommand
from fsbench_web.catalog.configurations.preparation import (
    LEAST_SPRANDOM_REGIONS,
    MIB,
    PRECONDITION_FROM_BYTES,
    SPRANDOM_REGION_BYTES,
    Preparation,
    PreparationError,
)

# The folder of the files that fill the file system, and the program that writes them: the agent
# itself (runner/agent/agent.py --fill), because how much fits is known only there.
FILL_FOLDER = "fsbench.fill"
AGENT_PROGRAM = "fsbench-agent"
# What measures the LUN itself (runner/agent/preparation/probe.py), and the raw output that is kept
# of it.
PROBE_PROGRAM = "fsbench-probe"
PROBE_OUTPUT = "probe.json"
# How files and free space lie on the device, where the file system was aged
# (runner/agent/preparation/layout.py).
LAYOUT_PROGRAM = "fsbench-layout"
LAYOUT_OUTPUTS = ("layout-before.txt", "layout-after.txt")
LAYOUT_S = 1800.0
AGING_SEED = 1


def device_commands(
    preparation: Preparation, device: str, size_bytes: int | None
) -> list[PlannedCommand]:
    """What is done to the device before mkfs: blkdiscard(8), then dd(1) past the page cache.

    The data are random, for arrays that compress. nocreat makes no file of an unplugged device.
    """
    commands = []
    if preparation.discard:
        commands.append(PlannedCommand("discard", ("blkdiscard", device)))
    if preparation.precondition:
        if size_bytes is None:
            raise PreparationError("The LUN's size is not known: it cannot be written once.")
        count = size_bytes - PRECONDITION_FROM_BYTES
        commands += [
            PlannedCommand(
                "precondition",
                (
                    *("dd", "if=/dev/urandom", f"of={device}", "bs=1M"),
                    *(f"count={count}", f"seek={PRECONDITION_FROM_BYTES // MIB}"),
                    *("iflag=fullblock,count_bytes", "oflag=direct", "conv=nocreat,notrunc,fsync"),
                    "status=progress",
                ),
            )
        ] * preparation.passes
    if preparation.sprandom_percent:
        if size_bytes is None:
            raise PreparationError("The LUN's size is not known: sprandom cannot write it.")
        commands.append(_sprandom_command(preparation, device, size_bytes))
    return commands


def _sprandom_command(preparation: Preparation, device: str, size_bytes: int) -> PlannedCommand:
    """fio's sprandom: the invalid blocks of the steady state (Desnoyers, ACM TOS 8(2), 2012)."""
    # What fio keeps in memory grows with a region, and its HOWTO wants more of large devices.
    regions = max(LEAST_SPRANDOM_REGIONS, size_bytes // SPRANDOM_REGION_BYTES)
    options = (
        *("--name=sprandom", f"--filename={device}", "--allow_file_create=0"),
        *(f"--offset={PRECONDITION_FROM_BYTES}", f"--size={size_bytes - PRECONDITION_FROM_BYTES}"),
        *("--rw=randwrite", "--bs=4k", "--ioengine=libaio", "--direct=1", "--iodepth=64"),
        *("--norandommap=1", "--random_generator=lfsr", "--refill_buffers=1"),
        *("--sprandom=1", f"--spr_op={preparation.sprandom_percent / 100:g}"),
        f"--spr_num_regions={regions}",
        *("--end_fsync=1", "--minimal"),
    )
    return PlannedCommand("precondition", ("fio", *options))


def probe_commands(preparation: Preparation, device: str, probe_s: int) -> list[PlannedCommand]:
    """Measure the device as prepared; if that fails, the benchmark runs all the same."""
    if not probe_s:
        return []
    flags = ("--whole",) if preparation.passes else ()
    argv = (PROBE_PROGRAM, "--seconds", str(probe_s), *flags, device)
    return [
        PlannedCommand(
            "probe", argv, output=PROBE_OUTPUT, timeout_s=2.0 * probe_s + 120, may_fail=True
        )
    ]


def fill_commands(preparation: Preparation, mount_point: str) -> list[PlannedCommand]:
    if not preparation.fill_percent:
        return []
    folder = f"{mount_point.rstrip('/')}/{FILL_FOLDER}"
    if not preparation.age_rounds:
        return [
            PlannedCommand("fill", (AGENT_PROGRAM, "--fill", str(preparation.fill_percent), folder))
        ]
    extents = (f"--extents={preparation.age_extents}",) if preparation.age_extents else ()
    return [
        PlannedCommand(
            "fill",
            (
                *("fsbench-aging", folder, f"--percent={preparation.fill_percent}"),
                *(f"--rounds={preparation.age_rounds}", *extents, f"--seed={AGING_SEED}"),
            ),
        )
    ]


def layout_commands(
    preparation: Preparation, filesystem: str, device: str, mount_point: str, output: str
) -> list[PlannedCommand]:
    """Where the file system was aged; what is unknown ends no run."""
    if not preparation.age_rounds:
        return []
    argv = (LAYOUT_PROGRAM, mount_point, device, find_filesystem(filesystem).kernel_name)
    return [PlannedCommand("layout", argv, output=output, timeout_s=LAYOUT_S, may_fail=True)]
