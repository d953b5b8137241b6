"""Options of file systems: what each is called, its values, and what each adds to a command.

Pure: no Django. Sources are manuals and the kernel:

- mke2fs(8) and ext4(5) of e2fsprogs 1.47, mkfs.xfs(8) and xfs(5) of xfsprogs 6.1
- mkfs.btrfs(8) and btrfs(5) of btrfs-progs 6.2, mount(8), mkfs.exfat(8) of exfatprogs 1.2
- mkntfs(8) of ntfs-3g 2022.10.3, bcachefs(8) of bcachefs-tools 1.13.0
- Documentation/filesystems (ext4, f2fs, ntfs3, overlayfs), fs/exfat/super.c, fs/bcachefs/opts.h
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property


class OptionError(ValueError):
    """An option or value outside the allow-list; the text tells the user what is allowed."""


@dataclass(frozen=True)
class Choice:
    """One allowed value: what it adds to the command, and to the configuration's label."""

    value: str
    arguments: tuple[str, ...]
    label: str
    help: str = ""


@dataclass(frozen=True)
class Option:
    """One tuning dimension. ``stage`` is mkfs, mount or layer.

    ``command`` and ``label_template`` have the value for ``{}``; the words of ``command`` are
    arguments. ``values`` is the closed list of them, each alone or as (value, label, help, command)
    with what differs from the templates. Without it a whole number from ``minimum`` to ``maximum``
    is allowed. Labels join one that ``is_joined`` to the file system's name: nfs4.2.
    ``usual`` is a value that the kernel shows of every mount.
    """

    key: str
    stage: str
    name: str
    command: str = ""
    label_template: str = "{}"
    values: tuple[str | tuple[str, ...], ...] = ()
    help: str = ""
    minimum: int | None = None
    maximum: int | None = None
    is_joined: bool = False
    usual: str = ""

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """All values; none of a whole number."""
        rows = ((row,) if isinstance(row, str) else row for row in self.values)
        return tuple(self._choice(*row) for row in rows)

    def _choice(self, value: str, label: str = "", help: str = "", command: str = "") -> Choice:
        arguments = (command or self.command.format(value)).split()
        return Choice(value, tuple(arguments), label or self.label_template.format(value), help)

    def choice(self, value: object) -> Choice:
        """The allowed choice for ``value``. Raises OptionError with what is allowed."""
        if self.choices:
            for choice in self.choices:
                if choice.value == value:
                    return choice
            allowed = ", ".join(choice.value for choice in self.choices)
            raise OptionError(f'{self.name}: "{value}" is not one of {allowed}.')
        bounds = f"{self.name}: a whole number from {self.minimum} to {self.maximum} is allowed"
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise OptionError(f'{bounds}, not "{value}".')
        text = str(value)
        # Digits of other scripts are numbers to int(), and would reach a command line.
        if not (text.isascii() and text.isdigit() and len(text) <= 12):
            raise OptionError(f'{bounds}, not "{text[:40]}".')
        number = int(text)
        assert self.minimum is not None
        assert self.maximum is not None
        if not self.minimum <= number <= self.maximum:
            raise OptionError(f"{bounds}, not {number}.")
        return self._choice(str(number))


def arguments_of(
    options: Iterable[Option], values: Mapping[str, object], *stages: str
) -> list[str]:
    """What these values add to a command of the stage, in the order of the options."""
    return [
        argument
        for option in options
        if option.stage in stages and option.key in values
        for argument in option.choice(values[option.key]).arguments
    ]


_CPU = "Benchmark data that compresses well measures the CPU, not the disk"

# Of several file systems.
ATIME = Option(
    *("atime", "mount", "Access times", "{}", "{}"),
    (
        ("noatime", "", "never written"),
        ("nodiratime", "", "not written for directories"),
        # noatime says it all since Linux 2.6.30, but older studies give both (Hilzinger 2006).
        (
            *("noatime,nodiratime", "noatime-nodiratime", "both, as older studies wrote it"),
            "noatime nodiratime",
        ),
        ("strictatime", "", "written at every read, as kernels before 2.6.30 did"),
    ),
    "Default: relatime, at most one write a day",
)
JOURNAL_MODE = Option(
    *("journal_mode", "mount", "Journal mode", "data={}", "{}"),
    (
        ("ordered", "", "data before its metadata; the default"),
        ("writeback", "wb", "only metadata is journalled"),
        ("journal", "", "data too goes through the journal"),
    ),
)
BARRIER = Option(
    *("barrier", "mount", "Write barriers", "barrier=0", "nobarrier"),
    (("off", "", "unsafe without a protected write cache"),),
)
LAZYTIME = Option(
    *("lazytime", "mount", "Lazy times", "lazytime", "lazytime"),
    (("on", "", "kept in memory until something else is written"),),
)
# Documentation/filesystems/overlayfs.rst: the upper file system needs extended attributes, and
# says in folders what each name is.
OVERLAY = Option(
    *("overlay", "mount", "overlayfs above it", "", "overlay"),
    (("on", "", "an empty lower layer; all files in the upper one, on the LUN"),),
    "What containers write through",
)
ONLINE_DISCARD = Option(
    *("online_discard", "mount", "Discard while mounted", "discard", "discard"),
    (("on", "", "at every commit"),),
)

EXT_BLOCK_SIZE = Option(
    *("block_size", "mkfs", "Block size (bytes)", "-b {}", "b{}"), ("1024", "2048", "4096")
)
DIR_INDEX = Option(
    *("dir_index", "mkfs", "Directory index"),
    values=(("on", "dirindex", "", "-O dir_index"), ("off", "nodirindex", "", "-O ^dir_index")),
)
EXT_JOURNAL_SIZE = Option(
    *("journal_size_mb", "mkfs", "Journal size (MiB)", "-Jsize={}", "j{}m"),
    help="Of a journal on the LUN itself",
    minimum=4,
    maximum=1024,
)
INODE_SIZE = Option(
    *("inode_size", "mkfs", "Inode size (bytes)", "-I {}", "i{}"), ("128", "256", "512")
)
EXT_CLUSTER = Option(
    *("cluster_size", "mkfs", "Cluster (bigalloc, bytes)", "-O bigalloc -C {}", "bigalloc{}"),
    ("16384", "65536", "262144", "1048576"),
    "Blocks are allocated so many together",
)
EXT_FAST_COMMIT = Option(
    *("fast_commit", "mkfs", "Fast commits", "-O fast_commit", "fastcommit"),
    (("on", "", "Linux 5.10 and newer"),),
)
EXT_ORPHAN_FILE = Option(
    *("orphan_file", "mkfs", "Orphan file"),
    values=(
        ("on", "orphanfile", "Linux 5.15 and newer", "-O orphan_file"),
        ("off", "noorphanfile", "", "-O ^orphan_file"),
    ),
)

AGCOUNT = Option(
    *("agcount", "mkfs", "Allocation groups", "-dagcount={}", "ag{}"),
    help="Each group must be 16 MiB or more",
    minimum=2,
    maximum=512,
)
LOGBUFS = Option(*("logbufs", "mount", "Log buffers", "logbufs={}", "lb{}"), minimum=2, maximum=8)
XFS_REFLINK = Option(
    *("reflink", "mkfs", "Shared blocks (reflink)"),
    values=(
        ("on", "reflink", "the default since xfsprogs 5.1", "-m reflink=1"),
        ("off", "noreflink", "", "-m reflink=0"),
    ),
)
XFS_RMAPBT = Option(
    *("rmapbt", "mkfs", "Reverse mapping (rmapbt)"),
    values=(
        ("on", "rmapbt", "the default since xfsprogs 6.5", "-m rmapbt=1"),
        ("off", "normapbt", "", "-m rmapbt=0"),
    ),
)
XFS_BIGTIME = Option(
    *("bigtime", "mkfs", "Times after 2038 (bigtime)"),
    values=(
        ("on", "bigtime", "the default since xfsprogs 5.15", "-m bigtime=1"),
        ("off", "nobigtime", "", "-m bigtime=0"),
    ),
)
XFS_LOG_SIZE = Option(
    *("log_size_mb", "mkfs", "Log size (MiB)", "-lsize={}m", "l{}m"),
    help="Of a log on the LUN itself",
    minimum=64,
    maximum=2038,
)

BTRFS_NODE_SIZE = Option(
    *("node_size", "mkfs", "Node size (bytes)", "-n {}", "n{}"), ("4096", "16384", "65536")
)
# mkfs.btrfs(8), PROFILES. Fewer LUNs than here would be another profile under this name.
PROFILE_LEAST_LUNS = {
    **{"single": 1, "dup": 1, "raid0": 2, "raid1": 2, "raid1c3": 3, "raid1c4": 4},
    **{"raid10": 4, "raid5": 3, "raid6": 4},
}
_PROFILES = (
    ("single", "", "one copy"),
    ("dup", "", "two copies on one LUN"),
    ("raid0", "", "striped over all LUNs"),
    ("raid1", "", "two copies, each on a LUN of its own"),
    ("raid1c3", "", "three copies on three LUNs"),
    ("raid1c4", "", "four copies on four LUNs"),
    ("raid10", "", "two copies, striped"),
    ("raid5", "", "one parity; not for production, says btrfs(5)"),
    ("raid6", "", "two parities; not for production, says btrfs(5)"),
)
BTRFS_DATA_PROFILE = Option(
    *("data_profile", "mkfs", "Profile of data", "-d {}", "data-{}"),
    _PROFILES,
    "Default: single, on several LUNs too",
)
BTRFS_METADATA_PROFILE = Option(
    *("metadata_profile", "mkfs", "Profile of metadata", "-m {}", "meta-{}"),
    _PROFILES,
    "Default: dup on one LUN, raid1 on several",
)
BTRFS_COMPRESSION = Option(
    *("compression", "mount", "Compression", "compress={}", "{}"),
    (
        *("lzo", "zlib", ("zstd", "", "level 3"), ("zlib:1", "zlib1"), ("zlib:9", "zlib9")),
        *(("zstd:1", "zstd1"), ("zstd:6", "zstd6"), ("zstd:15", "zstd15")),
    ),
    _CPU,
)
BTRFS_COPY_ON_WRITE = Option(
    *("copy_on_write", "mount", "Copy on write", "nodatacow", "nocow"),
    (("off", "", "no checksums of data either"),),
)
BTRFS_CHECKSUM = Option(
    *("checksum", "mkfs", "Checksum", "--csum {}", "{}"),
    ("crc32c", "xxhash", "sha256", "blake2"),
    "Default: crc32c; the others need Linux 5.5",
)
BTRFS_DISCARD = Option(
    *("online_discard", "mount", "Discard while mounted", "discard={}", "discard{}"),
    (
        ("async", "", "later; the default since Linux 6.2"),
        ("sync", "", "at every commit"),
        ("off", "nodiscard", "", "nodiscard"),
    ),
)
BTRFS_SPACE_CACHE = Option(
    *("space_cache", "mkfs", "Space cache", "", "space{}"),
    (
        ("v1", "", "in files; before 5.15 the default", "-R ^free-space-tree"),
        ("v2", "", "in a tree; the default since", "-R free-space-tree"),
    ),
)

REISER_TAILS = Option(
    *("tails", "mount", "Tails", "notail", "notail"),
    (("off", "", "ends of files are not packed into the tree"),),
    "Default: small files and ends of files share blocks",
)
NILFS_ORDER = Option(
    *("order", "mount", "Order of data", "order={}", "{}"),
    (("relaxed", "", "the default"), ("strict", "", "as written, also overwritten data")),
)
F2FS_MODE = Option(
    *("mode", "mount", "Mode", "mode={}", "{}"),
    (
        ("adaptive", "", "writes in place where it is full"),
        ("lfs", "", "never in place: a log alone"),
    ),
)
F2FS_GC = Option(
    *("background_gc", "mount", "Cleaning in the background", "background_gc={}", "gc{}"),
    (("on", "gc", "while it is idle; the default"), "sync", ("off", "nogc")),
)
F2FS_LOGS = Option(
    *("active_logs", "mount", "Active logs", "active_logs={}", "logs{}"),
    ("2", "4", "6"),
    "Default: 6",
)
EXFAT_CLUSTER = Option(
    *("cluster_size", "mkfs", "Cluster size (bytes)", "-c {}", "c{}"),
    ("4096", "32768", "131072", "524288", "1048576"),
    "Default: 4096 up to 256 MiB, 32768 up to 32 GiB, 131072 above",
)
EXFAT_ALIGNMENT = Option(
    *("boundary_alignment", "mkfs", "Alignment of FAT and clusters (bytes)", "-b {}", "align{}"),
    ("4096", "1048576", "4194304"),
    "Default: 1048576",
)
NTFS_CLUSTER = Option(
    *("cluster_size", "mkfs", "Cluster size (bytes)", "-c {}", "c{}"),
    ("4096", "16384", "65536"),
    "Default: 4096 up to 16 TiB",
)
NTFS_COMPRESSION = Option(
    *("compression", "mkfs", "Compression", "-C", "compressed"),
    (("on", "", "every new file, in units of 16 clusters (LZNT1)"),),
    _CPU,
)
NTFS_PREALLOC = Option(
    *("prealloc", "mount", "Preallocation", "prealloc", "prealloc"),
    (("on", "", "files that grow get more than they asked for"),),
)

_COPIES_HELP = "Each on a LUN of its own. Default: 1"
_CHECKSUMS = ("none", "crc32c", "crc64", "xxhash")
BCACHEFS_OPTIONS = (
    Option(
        *("data_replicas", "mkfs", "Copies of data", "--data_replicas={}", "copies{}"),
        ("1", "2", "3"),
        _COPIES_HELP,
    ),
    Option(
        *("metadata_replicas", "mkfs", "Copies of metadata"),
        *("--metadata_replicas={}", "metacopies{}"),
        ("1", "2", "3"),
        _COPIES_HELP,
    ),
    Option(
        *("block_size", "mkfs", "Block size (bytes)", "--block_size={}", "b{}"),
        ("4096",),
        "Default: the sector of the LUN",
    ),
    Option(
        *("encoded_extent_max_kb", "mkfs", "Largest extent with a checksum or compressed (KiB)"),
        *("--encoded_extent_max={}k", "extent{}k"),
        ("64", "128", "256"),
        "It is read whole, however little of it is wanted. Default: 64",
    ),
    Option(
        *("compression", "mkfs", "Compression", "--compression={}", "{}"),
        (
            *("lz4", "gzip", "zstd", ("gzip:1", "gzip1"), ("gzip:9", "gzip9")),
            *(("zstd:1", "zstd1"), ("zstd:9", "zstd9"), ("zstd:15", "zstd15")),
        ),
        _CPU,
    ),
    Option(
        *("data_checksum", "mkfs", "Checksum of data", "--data_checksum={}", "data-{}"),
        _CHECKSUMS,
        "Default: crc32c",
    ),
    Option(
        *("metadata_checksum", "mkfs", "Checksum of metadata"),
        *("--metadata_checksum={}", "metadata-{}"),
        _CHECKSUMS,
        "Default: crc32c",
    ),
    Option(
        *("copy_on_write", "mkfs", "Copy on write", "--nocow", "nocow"),
        (("off", "", "no checksums of data and no compression either"),),
    ),
    Option(*("online_discard", "mkfs", "Discard while mounted", "--discard", "discard"), ("on",)),
    Option(
        *("cache_mode", "mkfs", "Cache", "", "{}"),
        (
            ("writeback", "", "written to the cache, moved later; the default"),
            ("writearound", "", "written past it: what was read is cached"),
        ),
        "Of a LUN with the role cache",
    ),
)
