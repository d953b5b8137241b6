"""The options of a pool of OpenZFS, and of the one dataset in it. Pure: no Django.

Sources: zpool-create(8), zpoolconcepts(7), zpoolprops(7), zfsprops(7) and zfs(4) of OpenZFS 2.1
(Debian 12) and 2.3 (Debian 13); every value here is one of both.
"""

from collections.abc import Iterator, Mapping, Sequence

from fsbench_web.catalog.configurations.options import ATIME, Choice, Option
from fsbench_web.catalog.configurations.stacks import LunCounts

PAIRS = "pairs"
LEAST_LUNS = {"mirror": 2, PAIRS: 4, "raidz1": 2, "raidz2": 3, "raidz3": 4}
"""zpoolconcepts(7): a raidz has one device more than it has parities."""


def _property(
    key: str, name: str, values: Sequence[tuple[str, str, str]], help: str = ""
) -> Option:
    """A property of the dataset: (value, label, words) of each."""
    return Option(
        key,
        "mkfs",
        name,
        tuple(
            Choice(value, ("-O", f"{key}={value}"), label, words) for value, label, words in values
        ),
        help=help,
    )


LAYOUT = Option(
    "layout",
    "mkfs",
    "Layout of data",
    (
        Choice("mirror", (), "mirror", "a copy on each LUN"),
        Choice(PAIRS, (), "pairs", "striped over mirrors of two"),
        Choice("raidz1", (), "raidz1", "one parity"),
        Choice("raidz2", (), "raidz2", "two parities"),
        Choice("raidz3", (), "raidz3", "three parities"),
    ),
    help="Default: striped over all LUNs",
)
ASHIFT = Option(
    "ashift",
    "mkfs",
    "Sector size (ashift)",
    tuple(
        Choice(power, ("-o", f"ashift={power}"), f"ashift{power}", f"{2 ** int(power)} bytes")
        for power in ("9", "12", "13")
    ),
    help="Default: what the device says",
)
RECORDSIZE = _property(
    "recordsize",
    "Record size (bytes)",
    [
        (str(size), f"rs{size}", "")
        for size in (4096, 8192, 16384, 32768, 65536, 131072, 262144, 1048576)
    ],
    "Default: 131072. Of files that are larger; a smaller write reads and writes a whole record",
)
COMPRESSION = _property(
    "compression",
    "Compression",
    [
        ("off", "nocompr", "the default of 2.1"),
        ("lz4", "lz4", "the default since 2.2"),
        ("zstd", "zstd", "level 3"),
        ("zstd-1", "zstd1", ""),
        ("zstd-9", "zstd9", ""),
        ("gzip", "gzip", "level 6"),
        ("zle", "zle", "zeros alone"),
    ],
    "Benchmark data that compresses well measures the CPU, not the disk",
)
CHECKSUM = _property(
    "checksum",
    "Checksum",
    [
        ("fletcher4", "fletcher4", ""),
        ("sha256", "sha256", ""),
        ("sha512", "sha512", ""),
        ("off", "nochecksum", "of data; damaged files are not noticed"),
    ],
    "Default: fletcher4",
)
LOGBIAS = _property(
    "logbias",
    "Bias of the log",
    [
        ("latency", "logbias-latency", "through the log device; the default"),
        ("throughput", "logbias-throughput", "past the log device, into the pool"),
    ],
)
SYNC = _property(
    "sync",
    "Synchronous writes",
    [
        ("standard", "sync-standard", "as asked for; the default"),
        ("always", "sync-always", "every write is one"),
        ("disabled", "sync-disabled", "never: unsafe, fsync says what is not so"),
    ],
)
PRIMARYCACHE = _property(
    "primarycache",
    "Kept in memory (ARC)",
    [
        ("all", "arc-all", "the default"),
        ("metadata", "arc-metadata", "no data of files: what comes nearest to direct I/O"),
        ("none", "arc-none", ""),
    ],
)
SECONDARYCACHE = _property(
    "secondarycache",
    "Kept on the cache's LUN (L2ARC)",
    [
        ("all", "l2arc-all", "the default"),
        ("metadata", "l2arc-metadata", ""),
        ("none", "l2arc-none", ""),
    ],
)
XATTR = _property(
    "xattr",
    "Extended attributes",
    [("on", "xattr-dir", "in hidden folders"), ("sa", "xattr-sa", "in the inode")],
)
REDUNDANT_METADATA = _property(
    "redundant_metadata",
    "Further copies of metadata",
    [("all", "metacopies-all", "the default"), ("most", "metacopies-most", "")],
)
SPECIAL_SMALL_BLOCKS = _property(
    "special_small_blocks",
    "Small blocks on the LUN for metadata (bytes)",
    [(str(size), f"ssb{size}", "") for size in (4096, 16384, 32768, 65536)],
    "Default: 0, metadata alone",
)
ARC_MAX = Option(
    "arc_max_mb",
    "mkfs",
    "Most memory of the cache (ARC, MiB)",
    minimum=64,
    maximum=1024 * 1024,
    template="{}",
    label_template="arc{}m",
    help="Default: half of the memory (2.1), nearly all of it (2.3)",
)
ZFS_OPTIONS = (
    *(LAYOUT, ASHIFT, RECORDSIZE, COMPRESSION, CHECKSUM, LOGBIAS, SYNC),
    *(PRIMARYCACHE, SECONDARYCACHE, ATIME, XATTR, REDUNDANT_METADATA, SPECIAL_SMALL_BLOCKS),
    ARC_MAX,
)
HOW_TO_GET_ZFS = (
    "A kernel has OpenZFS once its modules are built: whoever runs the worker's host calls "
    "manage.py guest_kernel --with-zfs there."
)
ONLY_IN_GUESTS = (
    "OpenZFS is made in guests alone, which have no disk but the leased LUNs and no pool of "
    "anybody else: choose a guest as the executor, with a kernel that has it. "
    f"{HOW_TO_GET_ZFS}"
)


def zfs_conflicts(options: Mapping[str, str], shape: LunCounts, devices: int) -> Iterator[str]:
    """Why no pool can be made so; ``devices`` are those for data, above all layers."""
    least = LEAST_LUNS.get(options.get("layout", ""), 1)
    if devices < least:
        yield (
            f"OpenZFS with layout {options['layout']} is made over {least} devices or more, and "
            f"here over {devices}: name further LUNs in its stack."
        )
    elif options.get("layout") == PAIRS and devices % 2:
        yield f"A stripe of pairs is made over an even number of devices, not over {devices}."
    if "special_small_blocks" in options and not shape.special:
        yield "special_small_blocks needs a LUN with the role special in the stack."
    size, small = (options.get(key) for key in ("recordsize", "special_small_blocks"))
    if small and int(small) >= int(size or "131072"):
        # zfsprops(7): then all data, and not the small blocks alone, would be there.
        yield f"special_small_blocks {small} must be smaller than recordsize {size or '131072'}."
    if "secondarycache" in options and not _has_own_cache(shape):
        yield "secondarycache needs a LUN with the role cache in the stack, which no layer uses."


def _has_own_cache(shape: LunCounts) -> bool:
    return bool(shape.cache) and not any("cache_mode" in layer.options for layer in shape.layers)
