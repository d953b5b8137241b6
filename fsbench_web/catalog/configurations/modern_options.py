"""Options that came after the paper of 2005: features of mkfs, and of mount since. Pure: no Django.

Sources: ext4(5) and mke2fs(8) of e2fsprogs 1.47, mkfs.xfs(8) of xfsprogs 6.1, xfs(5),
mkfs.btrfs(8) and btrfs(5) of btrfs-progs 6.2, mount(8), and of Linux
Documentation/filesystems/ext4/, Documentation/filesystems/f2fs.rst.
"""

from fsbench_web.catalog.configurations.options import Choice, Option

LAZYTIME = Option(
    "lazytime",
    "mount",
    "Lazy times",
    (Choice("on", ("lazytime",), "lazytime", "kept in memory until something else is written"),),
)
# Documentation/filesystems/overlayfs.rst: the upper file system needs extended attributes, and
# says in folders what each name is.
OVERLAY = Option(
    "overlay",
    "mount",
    "overlayfs above it",
    (Choice("on", (), "overlay", "an empty lower layer; all files in the upper one, on the LUN"),),
    help="What containers write through",
)
ONLINE_DISCARD = Option(
    "online_discard",
    "mount",
    "Discard while mounted",
    (Choice("on", ("discard",), "discard", "at every commit"),),
)
EXT_CLUSTER = Option(
    "cluster_size",
    "mkfs",
    "Cluster (bigalloc, bytes)",
    tuple(
        Choice(size, ("-O", "bigalloc", "-C", size), f"bigalloc{size}")
        for size in ("16384", "65536", "262144", "1048576")
    ),
    help="Blocks are allocated so many together",
)
EXT_FAST_COMMIT = Option(
    "fast_commit",
    "mkfs",
    "Fast commits",
    (Choice("on", ("-O", "fast_commit"), "fastcommit", "Linux 5.10 and newer"),),
)
EXT_ORPHAN_FILE = Option(
    "orphan_file",
    "mkfs",
    "Orphan file",
    (
        Choice("on", ("-O", "orphan_file"), "orphanfile", "Linux 5.15 and newer"),
        Choice("off", ("-O", "^orphan_file"), "noorphanfile"),
    ),
)
XFS_REFLINK = Option(
    "reflink",
    "mkfs",
    "Shared blocks (reflink)",
    (
        Choice("on", ("-m", "reflink=1"), "reflink", "the default since xfsprogs 5.1"),
        Choice("off", ("-m", "reflink=0"), "noreflink"),
    ),
)
XFS_RMAPBT = Option(
    "rmapbt",
    "mkfs",
    "Reverse mapping (rmapbt)",
    (
        Choice("on", ("-m", "rmapbt=1"), "rmapbt", "the default since xfsprogs 6.5"),
        Choice("off", ("-m", "rmapbt=0"), "normapbt"),
    ),
)
XFS_BIGTIME = Option(
    "bigtime",
    "mkfs",
    "Times after 2038 (bigtime)",
    (
        Choice("on", ("-m", "bigtime=1"), "bigtime", "the default since xfsprogs 5.15"),
        Choice("off", ("-m", "bigtime=0"), "nobigtime"),
    ),
)
XFS_LOG_SIZE = Option(
    "log_size_mb",
    "mkfs",
    "Log size (MiB)",
    minimum=64,
    maximum=2038,
    template="-lsize={}m",
    label_template="l{}m",
    help="Of a log on the LUN itself",
)
BTRFS_CHECKSUM = Option(
    "checksum",
    "mkfs",
    "Checksum",
    tuple(
        Choice(name, ("--csum", name), name) for name in ("crc32c", "xxhash", "sha256", "blake2")
    ),
    help="Default: crc32c; the others need Linux 5.5",
)
BTRFS_DISCARD = Option(
    "online_discard",
    "mount",
    "Discard while mounted",
    (
        Choice("async", ("discard=async",), "discardasync", "later; the default since Linux 6.2"),
        Choice("sync", ("discard=sync",), "discardsync", "at every commit"),
        Choice("off", ("nodiscard",), "nodiscard"),
    ),
)
BTRFS_SPACE_CACHE = Option(
    "space_cache",
    "mkfs",
    "Space cache",
    (
        Choice("v1", ("-R", "^free-space-tree"), "spacev1", "in files; before 5.15 the default"),
        Choice("v2", ("-R", "free-space-tree"), "spacev2", "in a tree; the default since"),
    ),
)
F2FS_MODE = Option(
    "mode",
    "mount",
    "Mode",
    (
        Choice("adaptive", ("mode=adaptive",), "adaptive", "writes in place where it is full"),
        Choice("lfs", ("mode=lfs",), "lfs", "never in place: a log alone"),
    ),
)
F2FS_GC = Option(
    "background_gc",
    "mount",
    "Cleaning in the background",
    (
        Choice("on", ("background_gc=on",), "gc", "while it is idle; the default"),
        Choice("sync", ("background_gc=sync",), "gcsync"),
        Choice("off", ("background_gc=off",), "nogc"),
    ),
)
F2FS_LOGS = Option(
    "active_logs",
    "mount",
    "Active logs",
    tuple(Choice(count, (f"active_logs={count}",), f"logs{count}") for count in ("2", "4", "6")),
    help="Default: 6",
)
