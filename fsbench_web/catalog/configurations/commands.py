"""The commands of one run, in order: what the preview shows and the worker runs. Pure: no Django.

Every part comes from the closed lists of ``catalog.configurations.filesystems`` and from
``workloads``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsbench_web.catalog.configurations.filesystems import (
    RAW,
    OptionError,
    journal_command,
    lacking,
    mkfs_command,
    mount_command,
)
from fsbench_web.catalog.configurations.filesystems import (
    filesystem as find_filesystem,
)
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.catalog.configurations.layer_commands import Made, made
from fsbench_web.catalog.configurations.layers import Layer, has_cache
from fsbench_web.catalog.configurations.marks import OWN_LABEL
from fsbench_web.catalog.configurations.networks.loopback import network_of
from fsbench_web.catalog.configurations.pools import zfs_commands
from fsbench_web.catalog.configurations.preparation import (
    LEAST_SPRANDOM_REGIONS,
    MIB,
    NOT_FOR_DIRECTORIES,
    NOT_FOR_RAW,
    PLAIN,
    PRECONDITION_FROM_BYTES,
    SPRANDOM_REGION_BYTES,
    Preparation,
    PreparationError,
)
from fsbench_web.catalog.configurations.stacks import CACHE, DATA, Member, data_devices
from fsbench_web.core.workloads import Place, Workload

# The folder of the files that fill the file system, and the program that writes them: the agent
# itself (runner/agent/agent.py --fill), because how much fits is known only there.
FILL_FOLDER = "fsbench.fill"
AGENT_PROGRAM = "fsbench-agent"
# What measures the LUN itself (runner/agent/probe.py), and the raw output that is kept of it.
PROBE_PROGRAM = "fsbench-probe"
PROBE_OUTPUT = "probe.json"
# How files and free space lie on the device, where the file system was aged (agent/layout.py).
LAYOUT_PROGRAM = "fsbench-layout"
LAYOUT_OUTPUTS = ("layout-before.txt", "layout-after.txt")
LAYOUT_S = 1800.0
AGING_SEED = 1
# What overlayfs works with on the file system below it.
OVERLAY_FOLDER, OVERLAY_PARTS = "fsbench.overlay", ("lower", "upper", "work")
# Where a benchmark of the raw device begins: as preconditioning, behind the label.
RAW_FROM_BYTES = PRECONDITION_FROM_BYTES


@dataclass(frozen=True)
class PlannedCommand:
    """One command as an argument list.

    ``phase``: wipe, discard, precondition, probe, layer, journal, mkfs, mount, fill, layout,
    overlay, nfs, smb, pool, benchmark, unmount or teardown. A benchmark may be several commands and
    have the file system mounted anew between them. ``stdin`` is what the command reads, ``output``
    the name of the raw output that is kept of it, ``timeout_s`` its own limit where it has one.
    Without what ``may_fail`` the run goes on.
    """

    phase: str
    argv: tuple[str, ...]
    stdin: str = ""
    output: str = ""
    timeout_s: float | None = None
    may_fail: bool = False


def run_commands(
    filesystem: str,
    options: Mapping[str, object],
    workload: Workload,
    device: str,
    mount_point: str,
    makes_filesystem: bool,
    *,
    preparation: Preparation = PLAIN,
    size_bytes: int | None = None,
    journal: JournalLun | None = None,
    members: Sequence[Member] = (),
    layers: Sequence[Layer] = (),
    probe_s: int = 0,
) -> list[PlannedCommand]:
    """The commands of one run on ``device``, which is erased when ``makes_filesystem``.

    A ``journal`` is erased with it, and so are ``members``, the other LUNs of its stack, over which
    ``layers`` are made; they are taken down behind the last unmount.

    ``filesystem`` may be the raw device: then the benchmark works on ``device`` itself.
    A directory LUN has no file system of its own to make: there ``makes_filesystem`` is false,
    ``mount_point`` is the directory, and the benchmark alone is run. ``size_bytes`` is the device's
    size, which preconditioning needs. ``probe_s`` are the seconds in which the device itself is
    measured before it has a file system; 0: it is not. Raises OptionError
    (catalog.configurations.filesystems) for a file system or option that is not allowed, and
    PreparationError for a preparation that cannot be made there.
    """
    if filesystem == RAW:
        if not makes_filesystem or journal is not None or members or layers:
            raise OptionError("The raw device is one LUN by itself, without layers or journal.")
        return _raw_commands(workload, device, preparation, size_bytes, probe_s)
    if sentence := lacking(filesystem, workload):
        raise OptionError(sentence)
    if not makes_filesystem:
        if preparation != PLAIN:
            raise PreparationError(NOT_FOR_DIRECTORIES)
        if journal is not None or members or layers:
            raise OptionError(
                "A directory LUN has the file system it has: its journal stays where it is, and "
                "no other LUN is added to it."
            )
        return _benchmark_commands(workload, mount_point, [])
    # mkfs would discard what preconditioning has just written.
    luns = data_devices(device, members)
    layered = _layered(layers, luns, size_bytes, members)
    top, *further = layered.devices
    caches = _own_caches(filesystem, layers, members)
    unmount = PlannedCommand("unmount", ("umount", mount_point))
    if find_filesystem(filesystem).is_pool:
        own = _pool_commands(options, layered.devices, _left_by(layers, members), mount_point)
    else:
        mkfs = mkfs_command(
            *(filesystem, options, top, journal),
            keeps_blocks=preparation.passes > 0,
            further=further,
            caches=caches,
        )
        mount = mount_command(filesystem, options, top, mount_point, journal, further, caches)
        own = _Own([_mkfs(mkfs)], PlannedCommand("mount", tuple(mount)))
    # Neither what ageing nor what looking left is in the caches of a file system mounted anew.
    anew = [unmount, *own.between, own.mount]
    above, uncover = _above_commands(options, mount_point, unmount)
    return [
        *_wipe_commands(layers, luns, members),
        *_device_commands(preparation, device, size_bytes),
        *(
            command
            for one in members
            if one.role == DATA
            for command in _device_commands(preparation, one.device, one.size_bytes)
        ),
        # What one LUN can do is no bound for several: there it is the device that layers make of
        # them, of which no more is read than the probe writes (a thin volume has nothing else).
        *_probe_commands(preparation, device, 0 if members else probe_s),
        *(PlannedCommand("layer", argv, stdin) for argv, stdin in layered.up),
        *_probe_commands(
            PLAIN, top, probe_s if members and _is_one(members, [*further, *caches]) else 0
        ),
        *_journal_commands(filesystem, options, journal),
        *own.make,
        own.mount,
        *_fill_commands(preparation, mount_point),
        *_layout_commands(preparation, filesystem, top, mount_point, LAYOUT_OUTPUTS[0]),
        *(anew if preparation.age_rounds else []),
        *above,
        *_benchmark_commands(workload, mount_point, [*uncover, *anew, *above]),
        *own.check,
        *uncover,
        *_layout_commands(preparation, filesystem, top, mount_point, LAYOUT_OUTPUTS[1]),
        unmount,
        *own.down,
        *(PlannedCommand("teardown", argv, stdin) for argv, stdin in layered.down),
    ]


@dataclass(frozen=True)
class _Own:
    """The commands of the file system itself: those that make it and the one that mounts it,
    those between unmounting and mounting anew, what looks at it behind the benchmark, and what
    takes it away in the end.
    """

    make: list[PlannedCommand]
    mount: PlannedCommand
    between: tuple[PlannedCommand, ...] = ()
    check: tuple[PlannedCommand, ...] = ()
    down: tuple[PlannedCommand, ...] = ()


def _pool_commands(
    options: Mapping[str, object],
    devices: Sequence[str],
    members: Sequence[Member],
    mount_point: str,
) -> _Own:
    found = zfs_commands.pool(options, devices, members)
    check = PlannedCommand("pool", found.check)
    # An export forgets what went wrong until then.
    between = (check, PlannedCommand("pool", found.close), PlannedCommand("pool", found.open))
    return _Own(
        [*(PlannedCommand("pool", one) for one in found.prepare), _mkfs(found.create)],
        PlannedCommand("mount", zfs_commands.mount_command(options, mount_point)),
        between,
        (check,),
        tuple(PlannedCommand("teardown", one) for one in found.destroy),
    )


def _mkfs(argv: Sequence[str]) -> PlannedCommand:
    return PlannedCommand("mkfs", tuple(argv))


def _left_by(layers: Sequence[Layer], members: Sequence[Member]) -> list[Member]:
    """The members that no layer uses: a cache belongs to the layer that caches."""
    return [one for one in members if one.role != CACHE or not has_cache(layers)]


def _above_commands(
    options: Mapping[str, object], mount_point: str, unmount: PlannedCommand
) -> tuple[list[PlannedCommand], list[PlannedCommand]]:
    """What is mounted over the file system in the same place, and what uncovers it again."""
    network = network_of(options)
    if network is not None:
        up = [network.up(options, mount_point), network.mount(options, mount_point)]
        return (
            [PlannedCommand(network.phase, argv) for argv in up],
            [unmount, PlannedCommand(network.phase, network.down())],
        )
    overlay = _overlay_commands(options, mount_point)
    return overlay, [unmount] if overlay else []


def _overlay_commands(options: Mapping[str, object], mount_point: str) -> list[PlannedCommand]:
    """overlayfs above the file system, mounted where that is: whatever unmounts until nothing is
    there takes both away. Empty where it is not asked for.
    """
    if "overlay" not in options:
        return []
    folders = {name: f"{mount_point}/{OVERLAY_FOLDER}.{name}" for name in OVERLAY_PARTS}
    words = ",".join(f"{name}dir={folder}" for name, folder in folders.items())
    return [
        PlannedCommand("overlay", ("mkdir", "-p", *folders.values())),
        PlannedCommand("overlay", ("mount", "-t", "overlay", "-o", words, "overlay", mount_point)),
    ]


def _own_caches(filesystem: str, layers: Sequence[Layer], members: Sequence[Member]) -> list[str]:
    """The LUNs for a cache that the file system itself uses: those that no layer does."""
    if not find_filesystem(filesystem).takes_cache or has_cache(layers):
        return []
    return [one.device for one in members if one.role == CACHE]


def _is_one(members: Sequence[Member], further: Sequence[str]) -> bool:
    """Whether the data lie on one device (``Shape.is_one_device``)."""
    return not further and all(one.role in (DATA, CACHE) for one in members)


def _raw_commands(
    workload: Workload,
    device: str,
    preparation: Preparation,
    size_bytes: int | None,
    probe_s: int,
) -> list[PlannedCommand]:
    """The benchmark on the LUN itself, which is erased for it as for a file system.

    fsbench knows a LUN as its own by a label: a file system of it stays at the very begin, and the
    benchmark writes behind it.
    """
    if not workload.takes_device:
        raise OptionError(f"{workload.name} needs a file system: the raw device has no files.")
    if preparation.fill_percent:
        raise PreparationError(NOT_FOR_RAW)
    needed = RAW_FROM_BYTES + workload.space_needed_bytes()
    if size_bytes is not None and needed > size_bytes:
        raise OptionError(
            f"The workload needs {needed} bytes of the LUN, which has {size_bytes}: make its file "
            "smaller, or choose a larger LUN."
        )
    label = ("mkfs.ext2", "-q", "-F", "-L", OWN_LABEL, "-E", "nodiscard", device, "512k")
    place = Place("", device, RAW_FROM_BYTES)
    return [
        *_device_commands(preparation, device, size_bytes),
        *_probe_commands(preparation, device, probe_s),
        PlannedCommand("wipe", ("wipefs", "--all", device)),
        PlannedCommand("wipe", label),
        *(
            PlannedCommand("benchmark", one.argv, one.stdin, one.output, one.timeout_s)
            for one in workload.commands(place)
        ),
    ]


def _layered(
    layers: Sequence[Layer], luns: list[str], size_bytes: int | None, members: Sequence[Member]
) -> Made:
    sizes = [size_bytes, *(one.size_bytes for one in members if one.role == DATA)]
    return made(layers, luns, sizes, [one.device for one in members if one.role == CACHE])


def _wipe_commands(
    layers: Sequence[Layer], luns: list[str], members: Sequence[Member]
) -> list[PlannedCommand]:
    """What was on the LUNs goes first: a layer would find it, or ask."""
    others = [one.device for one in members if one.role != DATA]
    return [PlannedCommand("wipe", ("wipefs", "--all", *luns, *others))] if layers else []


def _benchmark_commands(
    workload: Workload, folder: str, remount: list[PlannedCommand]
) -> list[PlannedCommand]:
    """The workload's commands; ``remount`` is what unmounts and mounts, where that can be done."""
    found: list[PlannedCommand] = []
    for command in workload.commands(Place(folder)):
        if command.remount:
            found += remount
        found.append(
            PlannedCommand(
                "benchmark", command.argv, command.stdin, command.output, command.timeout_s
            )
        )
    return found


def _journal_commands(
    filesystem: str, options: Mapping[str, object], journal: JournalLun | None
) -> list[PlannedCommand]:
    if journal is None:
        return []
    argv = journal_command(filesystem, options, journal)
    return [PlannedCommand("journal", tuple(argv))] if argv else []


def _device_commands(
    preparation: Preparation, device: str, size_bytes: int | None
) -> list[PlannedCommand]:
    """What is done to the device before mkfs: blkdiscard(8), then dd(1) past the page cache.

    The data are random, so that an array which compresses or finds doubles has to store them. A
    device that was unplugged is not made as a file (nocreat), which would fill the memory of /dev.
    """
    found = []
    if preparation.discard:
        found.append(PlannedCommand("discard", ("blkdiscard", device)))
    if preparation.precondition:
        if size_bytes is None:
            raise PreparationError("The LUN's size is not known: it cannot be written once.")
        count = size_bytes - PRECONDITION_FROM_BYTES
        found += [
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
        found.append(_sprandom_command(preparation, device, size_bytes))
    return found


def _sprandom_command(preparation: Preparation, device: str, size_bytes: int) -> PlannedCommand:
    """fio writes so much more than the capacity that regions have as many invalid blocks as in the
    steady state of random writes (fio's HOWTO, "sprandom"; P. Desnoyers, ACM TOS 8(2), 2012).
    """
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


def _probe_commands(preparation: Preparation, device: str, probe_s: int) -> list[PlannedCommand]:
    """As it was prepared, and before anything else is on it. A LUN that could not be measured is
    benchmarked all the same.
    """
    if not probe_s:
        return []
    whole = ("--whole",) if preparation.passes else ()
    argv = (PROBE_PROGRAM, "--seconds", str(probe_s), *whole, device)
    return [
        PlannedCommand(
            "probe", argv, output=PROBE_OUTPUT, timeout_s=2.0 * probe_s + 120, may_fail=True
        )
    ]


def _fill_commands(preparation: Preparation, mount_point: str) -> list[PlannedCommand]:
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


def _layout_commands(
    preparation: Preparation, filesystem: str, device: str, mount_point: str, output: str
) -> list[PlannedCommand]:
    """Where the file system was aged; what cannot be told ends no run."""
    if not preparation.age_rounds:
        return []
    argv = (LAYOUT_PROGRAM, mount_point, device, find_filesystem(filesystem).kernel_name)
    return [PlannedCommand("layout", argv, output=output, timeout_s=LAYOUT_S, may_fail=True)]
