"""How a pool of OpenZFS is made of its devices, mounted, remounted, and destroyed. Pure.

It is made in guests alone, which see no disk but the leased ones, so that its name is the same in
every run: by that name, which libblkid tells as the label of each device, it is known as fsbench's
own (``marks``).

Memory that ZFS caches in (ARC) is not the page cache: unmounting keeps it, and exporting the pool
empties it. So anyone who unmounts to have cold caches exports the pool, and imports it again.
Sources: zpool-create(8), zpool-export(8), zpool-import(8), zpool-destroy(8), zpool-labelclear(8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsbench_web.catalog.configurations.pools.zfs_options import ARC_MAX, PAIRS, ZFS_OPTIONS
from fsbench_web.catalog.configurations.stacks import CACHE, LOG, SPECIAL, Member
from runner.safety.marks import OWN_LABEL

POOL = OWN_LABEL
# What does the rest, in the guest (runner/agent/preparation/zpool.py).
ZPOOL_PROGRAM = "fsbench-zpool"
# Other names of the devices: see there.
NODES = "/dev/fsbench.zpool"
# -f: it says so of every device that ever had anything on it. The LUN was checked right before.
# No cache file: nobody but this run imports it.
_CREATE = ("zpool", "create", "-f", "-o", "cachefile=none")
# Mounted by mount(8) like any other, whose options alone say what becomes of access times.
_DATASET = ("-O", "mountpoint=legacy", "-O", "atime=on", "-O", "relatime=off")


@dataclass(frozen=True)
class Pool:
    """The commands of one pool, each an argument list.

    ``prepare`` comes before ``create``, which is to it what mkfs is to others. ``check`` fails
    where the pool is not whole. ``close`` and ``open`` stand between unmounting and remounting;
    ``destroy`` leaves no mark of it on any device.
    """

    prepare: tuple[tuple[str, ...], ...]
    create: tuple[str, ...]
    check: tuple[str, ...]
    close: tuple[str, ...]
    open: tuple[str, ...]
    destroy: tuple[tuple[str, ...], ...]


def pool(
    options: Mapping[str, object], data: Sequence[str], members: Sequence[Member] = ()
) -> Pool:
    """A pool over the devices ``data``, with those of ``members`` that are not for data.

    Members of a role that a layer uses are left out by the caller.
    """
    others = [member for member in members if member.role in (LOG, CACHE, SPECIAL)]
    devices = [*data, *(member.device for member in others)]
    prepare = [(ZPOOL_PROGRAM, "nodes", NODES, *devices)]
    if ARC_MAX.key in options:
        limit = ARC_MAX.choice(options[ARC_MAX.key]).value
        prepare.append((ZPOOL_PROGRAM, "arc", limit))
    layout = str(options.get("layout", ""))
    vdevs = _data_vdevs(layout, [node(device) for device in data])
    for role in (SPECIAL, LOG, CACHE):
        of_role = [node(member.device) for member in others if member.role == role]
        # Metadata is as safe as the data; a cache has nothing that is not elsewhere, too.
        copies = ["mirror"] if layout and role != CACHE and len(of_role) > 1 else []
        vdevs += [role, *copies, *of_role] if of_role else []
    return Pool(
        tuple(prepare),
        (*_CREATE, *_arguments(options, "mkfs"), *_DATASET, POOL, *vdevs),
        (ZPOOL_PROGRAM, "healthy", POOL),
        ("zpool", "export", POOL),
        ("zpool", "import", "-d", NODES, "-o", "cachefile=none", POOL),
        (
            ("zpool", "destroy", "-f", POOL),
            *(("zpool", "labelclear", "-f", node(device)) for device in devices),
            ("wipefs", "--all", *devices),
        ),
    )


def mount_command(options: Mapping[str, object], mount_point: str) -> tuple[str, ...]:
    """What mounts the one dataset of the pool."""
    words = _arguments(options, "mount")
    return ("mount", "-t", "zfs", *(["-o", ",".join(words)] if words else []), POOL, mount_point)


def node(device: str) -> str:
    """By which name a device of the guest is in the pool."""
    return f"{NODES}/{device.rpartition('/')[2]}"


def _data_vdevs(layout: str, nodes: list[str]) -> list[str]:
    if layout == PAIRS:
        return [
            word
            for place in range(0, len(nodes), 2)
            for word in ("mirror", *nodes[place : place + 2])
        ]
    return [layout, *nodes] if layout else nodes


def _arguments(options: Mapping[str, object], stage: str) -> list[str]:
    """What properties and mount options add; the layout and the cache's limit are no such."""
    return [
        argument
        for option in ZFS_OPTIONS
        if option.stage == stage and option.key in options and option is not ARC_MAX
        for argument in option.choice(options[option.key]).arguments
    ]
