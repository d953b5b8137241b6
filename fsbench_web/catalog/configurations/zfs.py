"""OpenZFS: the options of a pool and of its one dataset, and the pool's commands. Pure: no Django.

Guests alone make it: they see no disk but the leased ones, so its name is the same in every run.
libblkid tells that name as the label of each device: by it fsbench knows the pool as its own.
Memory that ZFS caches in (ARC) is not the page cache: unmounting keeps it, and exporting the pool
empties it. Every value is one of OpenZFS 2.1 (Debian 12) or 2.3 (Debian 13). Sources:
zpool-create(8), zpool-export(8), zpool-import(8), zpool-destroy(8), zpool-labelclear(8),
zpoolconcepts(7), zpoolprops(7), zfsprops(7), zfs(4).
"""

from collections.abc import Iterator, Mapping, Sequence

from fsbench_web.catalog.configurations.layers import has_cache
from fsbench_web.catalog.configurations.options import ATIME, Option, arguments_of
from fsbench_web.catalog.configurations.planned import FilesystemCommands, PlannedCommand
from fsbench_web.catalog.configurations.stacks import CACHE, LOG, SPECIAL, LunCounts, Member
from runner.safety.marks import OWN_LABEL

POOL = OWN_LABEL
# What does the rest, in the guest (runner/agent/preparation/zpool.py).
ZPOOL_PROGRAM = "fsbench-zpool"
# Other names of the devices: see there.
NODES = "/dev/fsbench.zpool"
PAIRS = "pairs"
LEAST_LUNS = {"mirror": 2, PAIRS: 4, "raidz1": 2, "raidz2": 3, "raidz3": 4}
"""zpoolconcepts(7): a raidz has one device more than it has parities."""


def _property(
    key: str, name: str, label: str, values: tuple[str | tuple[str, ...], ...], help: str = ""
) -> Option:
    return Option(key, "mkfs", name, f"-O {key}={{}}", label, values, help)


PRIMARYCACHE = _property(
    *("primarycache", "Kept in memory (ARC)", "arc-{}"),
    (
        ("all", "", "the default"),
        ("metadata", "", "no data of files: what comes nearest to direct I/O"),
        "none",
    ),
)
ZFS_OPTIONS = (
    Option(
        *("layout", "mkfs", "Layout of data"),
        values=(
            ("mirror", "", "a copy on each LUN"),
            (PAIRS, "", "striped over mirrors of two"),
            ("raidz1", "", "one parity"),
            ("raidz2", "", "two parities"),
            ("raidz3", "", "three parities"),
        ),
        help="Default: striped over all LUNs",
    ),
    Option(
        *("ashift", "mkfs", "Sector size (ashift)", "-o ashift={}", "ashift{}"),
        (("9", "", "512 bytes"), ("12", "", "4096 bytes"), ("13", "", "8192 bytes")),
        "Default: what the device says",
    ),
    _property(
        *("recordsize", "Record size (bytes)", "rs{}"),
        ("4096", "8192", "16384", "32768", "65536", "131072", "262144", "1048576"),
        "Default: 131072. Of files that are larger; a smaller write reads and writes a whole "
        "record",
    ),
    _property(
        *("compression", "Compression", "{}"),
        (
            ("off", "nocompr", "the default of 2.1"),
            ("lz4", "", "the default since 2.2"),
            ("zstd", "", "level 3"),
            ("zstd-1", "zstd1"),
            ("zstd-9", "zstd9"),
            ("gzip", "", "level 6"),
            ("zle", "", "zeros alone"),
        ),
        "Benchmark data that compresses well measures the CPU, not the disk",
    ),
    _property(
        *("checksum", "Checksum", "{}"),
        (
            *("fletcher4", "sha256", "sha512"),
            ("off", "nochecksum", "of data; damaged files are not noticed"),
        ),
        "Default: fletcher4",
    ),
    _property(
        *("logbias", "Bias of the log", "logbias-{}"),
        (
            ("latency", "", "through the log device; the default"),
            ("throughput", "", "past the log device, into the pool"),
        ),
    ),
    _property(
        *("sync", "Synchronous writes", "sync-{}"),
        (
            ("standard", "", "as asked for; the default"),
            ("always", "", "every write is one"),
            ("disabled", "", "never: unsafe, fsync returns too early"),
        ),
    ),
    PRIMARYCACHE,
    _property(
        *("secondarycache", "Kept on the cache's LUN (L2ARC)", "l2arc-{}"),
        (("all", "", "the default"), "metadata", "none"),
    ),
    ATIME,
    _property(
        *("xattr", "Extended attributes", "xattr-{}"),
        (("on", "xattr-dir", "in hidden folders"), ("sa", "", "in the inode")),
    ),
    _property(
        *("redundant_metadata", "Further copies of metadata", "metacopies-{}"),
        (("all", "", "the default"), "most"),
    ),
    _property(
        *("special_small_blocks", "Small blocks on the LUN for metadata (bytes)", "ssb{}"),
        ("4096", "16384", "32768", "65536"),
        "Default: 0, metadata alone",
    ),
    Option(
        *("arc_max_mb", "mkfs", "Most memory of the cache (ARC, MiB)", "", "arc{}m"),
        help="Default: half of the memory (2.1), nearly all of it (2.3)",
        minimum=64,
        maximum=1024 * 1024,
    ),
)
HOW_TO_GET_ZFS = (
    "A kernel has OpenZFS once its modules are built: call manage.py guest_kernel --with-zfs on "
    "the worker's host."
)
ONLY_IN_GUESTS = (
    "OpenZFS is made in guests alone, which have no disk but the leased LUNs and no pool of "
    "anybody else: choose a guest as the executor, with a kernel that has it. "
    f"{HOW_TO_GET_ZFS}"
)


def conflicts(options: Mapping[str, str], shape: LunCounts, devices: int) -> Iterator[str]:
    """Why no pool can be made so; ``devices`` are those for data, above all layers."""
    layout = options.get("layout", "")
    least = LEAST_LUNS.get(layout, 1)
    if devices < least:
        yield (
            f"OpenZFS with layout {layout} is made over {least} devices or more, and "
            f"here over {devices}: name further LUNs in its stack."
        )
    elif layout == PAIRS and devices % 2:
        yield f"A stripe of pairs is made over an even number of devices, not over {devices}."
    if "special_small_blocks" in options and not shape.special:
        yield "special_small_blocks needs a LUN with the role special in the stack."
    size, small = (options.get(key) for key in ("recordsize", "special_small_blocks"))
    if small and int(small) >= int(size or "131072"):
        # zfsprops(7): then all data, and not the small blocks alone, would be there.
        yield f"special_small_blocks {small} must be smaller than recordsize {size or '131072'}."
    if "secondarycache" in options and (not shape.cache or has_cache(shape.layers)):
        yield "secondarycache needs a LUN with the role cache in the stack, which no layer uses."


def pool(
    options: Mapping[str, object], data: Sequence[str], members: Sequence[Member], mount_point: str
) -> FilesystemCommands:
    """A pool over the devices ``data``, with those of ``members`` that are not for data.

    The caller leaves out members of a role that a layer uses.
    """
    others = [member for member in members if member.role in (LOG, CACHE, SPECIAL)]
    devices = [*data, *(member.device for member in others)]
    prepare = [(ZPOOL_PROGRAM, "nodes", NODES, *devices)]
    if "arc_max_mb" in options:
        prepare.append((ZPOOL_PROGRAM, "arc", str(options["arc_max_mb"])))
    layout = str(options.get("layout", ""))
    vdevs = _data_vdevs(layout, [node(device) for device in data])
    for role in (SPECIAL, LOG, CACHE):
        of_role = [node(member.device) for member in others if member.role == role]
        # Metadata is as safe as the data; a cache has nothing that is not elsewhere, too.
        copies = ["mirror"] if layout and role != CACHE and len(of_role) > 1 else []
        vdevs += [role, *copies, *of_role] if of_role else []
    create = (
        # -f: it says so of every device that ever had anything on it. The LUN was checked right
        # before. No cache file: nobody but this run imports it.
        *("zpool", "create", "-f", "-o", "cachefile=none"),
        *arguments_of(ZFS_OPTIONS, options, "mkfs"),
        # Mounted by mount(8) like any other, whose options alone say what becomes of access times.
        *("-O", "mountpoint=legacy", "-O", "atime=on", "-O", "relatime=off", POOL, *vdevs),
    )
    words = arguments_of(ZFS_OPTIONS, options, "mount")
    mount = ("mount", "-t", "zfs", *(["-o", ",".join(words)] if words else []), POOL, mount_point)
    check = PlannedCommand("pool", (ZPOOL_PROGRAM, "healthy", POOL))
    # An export forgets what went wrong until then.
    close = PlannedCommand("pool", ("zpool", "export", POOL))
    open_again = ("zpool", "import", "-d", NODES, "-o", "cachefile=none", POOL)
    destroy = [
        ("zpool", "destroy", "-f", POOL),
        *(("zpool", "labelclear", "-f", node(device)) for device in devices),
        ("wipefs", "--all", *devices),
    ]
    return FilesystemCommands(
        [*(PlannedCommand("pool", argv) for argv in prepare), PlannedCommand("mkfs", create)],
        PlannedCommand("mount", mount),
        between=(check, close, PlannedCommand("pool", open_again)),
        check=(check,),
        teardown=tuple(PlannedCommand("teardown", argv) for argv in destroy),
    )


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
