"""The commands of one run, in order: what the preview shows and the worker runs. No Django."""

from collections.abc import Mapping, Sequence

from fsbench_web.catalog.configurations import zfs
from fsbench_web.catalog.configurations.commands.durability import durability_commands
from fsbench_web.catalog.configurations.commands.filesystem import (
    journal_command,
    mkfs_command,
    mount_command,
)
from fsbench_web.catalog.configurations.commands.layers import LayerCommands, layer_commands
from fsbench_web.catalog.configurations.commands.preparation import (
    LAYOUT_OUTPUTS,
    device_commands,
    fill_commands,
    layout_commands,
    probe_commands,
)
from fsbench_web.catalog.configurations.filesystems import ALL, RAW, OptionError
from fsbench_web.catalog.configurations.filesystems import filesystem as find_filesystem
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.catalog.configurations.layers import Layer, has_cache
from fsbench_web.catalog.configurations.networks import network_of
from fsbench_web.catalog.configurations.planned import FilesystemCommands, PlannedCommand
from fsbench_web.catalog.configurations.preparation import (
    NOT_FOR_DIRECTORIES,
    NOT_FOR_RAW,
    PLAIN,
    PRECONDITION_FROM_BYTES,
    Preparation,
    PreparationError,
)
from fsbench_web.catalog.configurations.stacks import CACHE, DATA, Member, data_devices
from fsbench_web.core import file_features
from fsbench_web.core.workloads import BenchmarkCommand, Place, Workload
from runner.safety.marks import OWN_LABEL

# What overlayfs works with on the file system below it.
OVERLAY_FOLDER, OVERLAY_PARTS = "fsbench.overlay", ("lower", "upper", "work")
# Where a benchmark of the raw device begins: as preconditioning, behind the label.
RAW_FROM_BYTES = PRECONDITION_FROM_BYTES


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
    crash_points: int = 0,
) -> list[PlannedCommand]:
    """The commands of one run on ``device``, which is erased when ``makes_filesystem``.

    ``journal`` and ``members``, over which ``layers`` are made, are erased too. In a directory the
    benchmark alone is run, at ``mount_point``. ``size_bytes`` is the device's. ``probe_s``: seconds
    in which the device itself is measured. ``crash_points`` are tried when all else is done. Raises
    OptionError and PreparationError.
    """
    if filesystem == RAW:
        if not makes_filesystem or journal is not None or members or layers:
            raise OptionError("The raw device is one LUN only, without layers or journal.")
        return _raw_commands(workload, device, preparation, size_bytes, probe_s)
    if sentence := workload_problem(filesystem, workload):
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
        # A cache belongs to the layer that caches.
        own = [member for member in members if member.role != CACHE or not has_cache(layers)]
        filesystem_commands = zfs.pool(options, layered.devices, own, mount_point)
    else:
        mkfs = mkfs_command(
            *(filesystem, options, top, journal),
            keeps_blocks=preparation.passes > 0,
            further=further,
            caches=caches,
        )
        mount = mount_command(filesystem, options, top, mount_point, journal, further, caches)
        filesystem_commands = FilesystemCommands(
            [PlannedCommand("mkfs", tuple(mkfs))], PlannedCommand("mount", tuple(mount))
        )
    # Neither what ageing nor what looking left is in the caches of a file system mounted anew.
    remount = [unmount, *filesystem_commands.between, filesystem_commands.mount]
    above, uncover = _above_commands(options, mount_point, unmount)
    return [
        *_wipe_commands(layers, luns, members),
        *device_commands(preparation, device, size_bytes),
        *(
            command
            for member in members
            if member.role == DATA
            for command in device_commands(preparation, member.device, member.size_bytes)
        ),
        # What one LUN can do is no bound for several: there it is the device that layers make of
        # them, of which no more is read than the probe writes (a thin volume has nothing else).
        *probe_commands(preparation, device, 0 if members else probe_s),
        *(PlannedCommand("layer", argv, stdin) for argv, stdin in layered.assemble),
        *probe_commands(
            PLAIN, top, probe_s if members and _is_one(members, [*further, *caches]) else 0
        ),
        *_journal_commands(filesystem, options, journal),
        *filesystem_commands.make,
        filesystem_commands.mount,
        *fill_commands(preparation, mount_point),
        *layout_commands(preparation, filesystem, top, mount_point, LAYOUT_OUTPUTS[0]),
        *(remount if preparation.age_rounds else []),
        *above,
        *_benchmark_commands(workload, mount_point, [*uncover, *remount, *above]),
        *_sync_commands(options, mount_point),
        *filesystem_commands.check,
        *uncover,
        *layout_commands(preparation, filesystem, top, mount_point, LAYOUT_OUTPUTS[1]),
        unmount,
        *filesystem_commands.teardown,
        *(PlannedCommand("teardown", argv, stdin) for argv, stdin in layered.disassemble),
        *durability_commands(filesystem, options, top, crash_points),
    ]


def workload_problem(slug: str, workload: Workload) -> str:
    """Why this workload's files cannot be on this file system, or ""."""
    spec = ALL.get(slug)
    if spec is None:
        return ""
    missing = [feature for feature in file_features.ALL if feature in workload.demands & spec.lacks]
    if not missing:
        return ""
    return (
        f"{workload.name} needs {' and '.join(missing)}, and {spec.name} has none: choose another "
        f"workload, or leave {spec.name} out."
    )


def _above_commands(
    options: Mapping[str, object], mount_point: str, unmount: PlannedCommand
) -> tuple[list[PlannedCommand], list[PlannedCommand]]:
    """What is mounted over the file system in the same place, and what uncovers it again."""
    network = network_of(options)
    if network is not None:
        up = [network.up_command(options, mount_point), network.mount_command(options, mount_point)]
        return (
            [PlannedCommand(network.phase, argv) for argv in up],
            [unmount, PlannedCommand(network.phase, network.down_command())],
        )
    overlay = _overlay_commands(options, mount_point)
    return overlay, [unmount] if overlay else []


def _sync_commands(options: Mapping[str, object], mount_point: str) -> list[PlannedCommand]:
    """Write the benchmark's last bytes to the device, a server's too: samples have all of them."""
    network = network_of(options)
    served = [network.up_command(options, mount_point)[-1]] if network is not None else []
    return [
        PlannedCommand("sync", ("sync", "-f", folder), may_fail=True)
        for folder in (mount_point, *served)
    ]


def _overlay_commands(options: Mapping[str, object], mount_point: str) -> list[PlannedCommand]:
    """overlayfs mounted over the file system; empty where it is not asked for."""
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
    return [member.device for member in members if member.role == CACHE]


def _is_one(members: Sequence[Member], further: Sequence[str]) -> bool:
    """Whether the data lie on one device (``Shape.is_one_device``)."""
    return not further and all(member.role in (DATA, CACHE) for member in members)


def _raw_commands(
    workload: Workload,
    device: str,
    preparation: Preparation,
    size_bytes: int | None,
    probe_s: int,
) -> list[PlannedCommand]:
    """The benchmark on the erased LUN itself, behind a tiny file system with fsbench's label."""
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
        *device_commands(preparation, device, size_bytes),
        *probe_commands(preparation, device, probe_s),
        PlannedCommand("wipe", ("wipefs", "--all", device)),
        PlannedCommand("wipe", label),
        *map(_planned, workload.commands(place)),
    ]


def _layered(
    layers: Sequence[Layer], luns: list[str], size_bytes: int | None, members: Sequence[Member]
) -> LayerCommands:
    sizes = [size_bytes, *(member.size_bytes for member in members if member.role == DATA)]
    return layer_commands(
        layers, luns, sizes, [member.device for member in members if member.role == CACHE]
    )


def _wipe_commands(
    layers: Sequence[Layer], luns: list[str], members: Sequence[Member]
) -> list[PlannedCommand]:
    """What was on the LUNs goes first: a layer would find it, or ask."""
    others = [member.device for member in members if member.role != DATA]
    return [PlannedCommand("wipe", ("wipefs", "--all", *luns, *others))] if layers else []


def _benchmark_commands(
    workload: Workload, folder: str, remount: list[PlannedCommand]
) -> list[PlannedCommand]:
    """The workload's commands; ``remount`` is what unmounts and mounts, where that can be done."""
    commands: list[PlannedCommand] = []
    for command in workload.commands(Place(folder)):
        if command.remount:
            commands += remount
        elif remount and not command.output and commands and commands[-1].output:
            # Costs leave out what follows: what was measured is written before it.
            commands.append(PlannedCommand("sync", ("sync", "-f", folder), may_fail=True))
        commands.append(_planned(command))
    return commands


def _planned(command: BenchmarkCommand) -> PlannedCommand:
    return PlannedCommand(
        "benchmark", command.argv, command.stdin, command.output, command.timeout_s
    )


def _journal_commands(
    filesystem: str, options: Mapping[str, object], journal: JournalLun | None
) -> list[PlannedCommand]:
    if journal is None:
        return []
    argv = journal_command(filesystem, options, journal)
    return [PlannedCommand("journal", tuple(argv))] if argv else []
