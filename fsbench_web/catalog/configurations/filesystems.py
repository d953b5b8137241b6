"""The file systems that fsbench can make, and the options of each. Pure: no Django.

Command lines are built from these closed lists alone; no text of a user becomes part of one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fsbench_web.catalog.configurations import as_mounted, options
from fsbench_web.catalog.configurations.journals import (
    EXT_JOURNAL,
    JFS_JOURNAL,
    MIB,
    REISER_JOURNAL,
    XFS_LOG,
    ExternalJournal,
)
from fsbench_web.catalog.configurations.networks import NETWORK_OPTIONS
from fsbench_web.catalog.configurations.options import ATIME, LAZYTIME, ONLINE_DISCARD, Option
from fsbench_web.catalog.configurations.options import OptionError as OptionError
from fsbench_web.catalog.configurations.zfs import ZFS_OPTIONS
from fsbench_web.core import file_features, requirements
from runner.safety.marks import OWN_LABEL as OWN_LABEL

RAW, ZFS, BCACHEFS = "raw", "zfs", "bcachefs"


@dataclass(frozen=True)
class Filesystem:
    """A file system to make on a LUN (``is_made``), found mounted, or none (``is_raw``).

    ``mkfs`` is the fixed part of the command; ``minimum_bytes`` the smallest LUN its tools accept;
    ``journal`` None where it cannot be elsewhere; ``without_discard`` keeps mkfs from discarding.
    ``takes_several`` devices, ``takes_cache`` devices. ``is_pool``: a pool of a stack, in guests.
    ``lacks``: what files cannot have there (``core.file_features``).
    """

    slug: str
    name: str
    mkfs: tuple[str, ...]
    minimum_bytes: int
    options: tuple[Option, ...] = ()
    notes: str = ""
    journal: ExternalJournal | None = None
    without_discard: tuple[str, ...] = ()
    takes_several: bool = False
    takes_cache: bool = False
    is_pool: bool = False
    lacks: frozenset[str] = frozenset()

    @property
    def is_made(self) -> bool:
        return bool(self.mkfs)

    @property
    def is_raw(self) -> bool:
        """The LUN itself: benchmarks write to the device, and erase it as mkfs does."""
        return self.slug == RAW

    @property
    def is_as_mounted(self) -> bool:
        return not self.is_made and not self.is_raw

    @property
    def kernel_name(self) -> str:
        """What the kernel calls it: in /proc/filesystems, in mountinfo, for mount -t."""
        return self.slug if not self.is_made else requirements.FILESYSTEMS[self.slug].kernel_name

    @property
    def tool_package(self) -> str:
        """The Debian package that its mkfs comes from; "" where nothing is made."""
        return requirements.FILESYSTEMS[self.slug].package if self.is_made else ""

    def option(self, key: str) -> Option:
        """The option named ``key``. Raises OptionError with the keys there are."""
        for option in self.options:
            if option.key == key:
                return option
        allowed = ", ".join(option.key for option in self.options)
        raise OptionError(f'{self.name} has no option "{key}"; it has {allowed}.')


# -F: the LUN is a whole device, not a partition. Lazy initialisation would write in the
# background while the benchmark runs, so everything is written by mkfs (mke2fs(8), -E).
_EXT_BASE = ("-q", "-F", "-L", OWN_LABEL, "-E", "lazy_itable_init=0")
_EXT_JOURNAL_BASE = (
    *("-q", "-F", "-L", OWN_LABEL),
    *("-E", "lazy_itable_init=0,lazy_journal_init=0"),
)
_EXT_OPTIONS = (options.EXT_BLOCK_SIZE, options.INODE_SIZE, options.DIR_INDEX)
_EXT_JOURNAL_OPTIONS = (
    *(*_EXT_OPTIONS, options.EXT_JOURNAL_SIZE, options.JOURNAL_MODE, ATIME, options.BARRIER),
)
_NO_EXT_DISCARD = ("-E", "nodiscard")
_ABOVE = (options.OVERLAY, *NETWORK_OPTIONS)

FILESYSTEMS: dict[str, Filesystem] = {
    filesystem.slug: filesystem
    for filesystem in (
        Filesystem(
            *("ext2", "ext2", ("mkfs.ext2", *_EXT_BASE), 4 * MIB),
            (*_EXT_OPTIONS, ATIME),
            notes="No journal: the high-water mark of the paper",
            without_discard=_NO_EXT_DISCARD,
        ),
        Filesystem(
            *("ext3", "ext3", ("mkfs.ext3", *_EXT_JOURNAL_BASE), 16 * MIB),
            _EXT_JOURNAL_OPTIONS,
            journal=EXT_JOURNAL,
            without_discard=_NO_EXT_DISCARD,
        ),
        Filesystem(
            *("ext4", "ext4", ("mkfs.ext4", *_EXT_JOURNAL_BASE), 16 * MIB),
            (
                *(*_EXT_JOURNAL_OPTIONS, options.EXT_CLUSTER, options.EXT_FAST_COMMIT),
                *(options.EXT_ORPHAN_FILE, LAZYTIME, ONLINE_DISCARD, *_ABOVE),
            ),
            journal=EXT_JOURNAL,
            without_discard=_NO_EXT_DISCARD,
        ),
        Filesystem(
            *("xfs", "XFS", ("mkfs.xfs", "-q", "-f", "-L", OWN_LABEL), 300 * MIB),
            (
                *(options.AGCOUNT, options.LOGBUFS, ATIME, options.XFS_REFLINK),
                *(options.XFS_RMAPBT, options.XFS_BIGTIME, options.XFS_LOG_SIZE),
                *(LAZYTIME, ONLINE_DISCARD, *_ABOVE),
            ),
            journal=XFS_LOG,
            without_discard=("-K",),
        ),
        Filesystem(
            *("btrfs", "Btrfs", ("mkfs.btrfs", "-q", "-f", "-L", OWN_LABEL), 128 * MIB),
            (
                *(options.BTRFS_DATA_PROFILE, options.BTRFS_METADATA_PROFILE),
                *(options.BTRFS_NODE_SIZE, options.BTRFS_COMPRESSION, options.BTRFS_COPY_ON_WRITE),
                *(ATIME, options.BTRFS_CHECKSUM, options.BTRFS_DISCARD, options.BTRFS_SPACE_CACHE),
                *_ABOVE,
            ),
            without_discard=("-K",),
            takes_several=True,
        ),
        Filesystem(
            *("jfs", "JFS", ("mkfs.jfs", "-q", "-L", OWN_LABEL), 16 * MIB, (ATIME,)),
            journal=JFS_JOURNAL,
        ),
        Filesystem(
            # Twice -f: no question, also for a whole device.
            *("reiser3", "ReiserFS", ("mkfs.reiserfs", "-q", "-f", "-f", "-l", OWN_LABEL)),
            *(40 * MIB, (options.REISER_TAILS, options.JOURNAL_MODE, ATIME)),
            notes="Version 3; Linux removed it in 6.13",
            journal=REISER_JOURNAL,
        ),
        Filesystem(
            *("f2fs", "F2FS", ("mkfs.f2fs", "-q", "-f", "-l", OWN_LABEL), 64 * MIB),
            (ATIME, options.F2FS_MODE, options.F2FS_GC, options.F2FS_LOGS, LAZYTIME),
            without_discard=("-t", "0"),
        ),
        Filesystem(
            *("nilfs2", "NILFS2", ("mkfs.nilfs2", "-q", "-f", "-L", OWN_LABEL), 136 * MIB),
            (options.NILFS_ORDER, ATIME),
            without_discard=("-K",),
        ),
        Filesystem(
            *("exfat", "exFAT", ("mkfs.exfat", "-L", OWN_LABEL), 16 * MIB),
            (options.EXFAT_CLUSTER, options.EXFAT_ALIGNMENT, ATIME, ONLINE_DISCARD),
            notes="No journal, links or permissions: of cards and sticks",
            lacks=frozenset(file_features.ALL),
        ),
        Filesystem(
            # -F: the LUN is a whole device, not a partition; -Q: it is not written with zeros.
            *("ntfs3", "NTFS3", ("mkntfs", "-q", "-Q", "-F", "-L", OWN_LABEL), 16 * MIB),
            (
                *(options.NTFS_CLUSTER, options.NTFS_COMPRESSION, options.NTFS_PREALLOC),
                *(ATIME, ONLINE_DISCARD),
            ),
            notes="NTFS by the kernel's own driver, Linux 5.15 and newer",
        ),
        Filesystem(
            *(BCACHEFS, "bcachefs", ("mkfs.bcachefs", "-q", "-f", "-L", OWN_LABEL), 64 * MIB),
            (*options.BCACHEFS_OPTIONS, ATIME),
            notes="In Linux 6.7 to 6.17; its tools are in no release of Debian",
            takes_several=True,
            takes_cache=True,
        ),
        Filesystem(
            *(ZFS, "OpenZFS", ("zpool", "create"), 128 * MIB, ZFS_OPTIONS),
            notes="A pool of its own, in guests alone: modules are built for their kernel",
            takes_several=True,
            is_pool=True,
        ),
    )
}
AS_MOUNTED: dict[str, Filesystem] = {
    slug: Filesystem(slug, as_mounted.NAMES[slug], (), 0, mount_options)
    for slug, mount_options in as_mounted.OPTIONS.items()
}
# What a LUN is measured as that has no file system: a contender like any other.
ON_LUNS = {
    **FILESYSTEMS,
    RAW: Filesystem(
        *(RAW, "Raw device", (), MIB),
        notes="No file system: the ceiling of all. For fio by queue depth",
    ),
}
ALL = {**ON_LUNS, **AS_MOUNTED}
# mke2fs(8) -J device=, mkfs.xfs(8) -l logdev=, jfs_mkfs(8) -J device=, mkreiserfs(8) -j.
EXTERNAL_JOURNAL_FILESYSTEMS = tuple(slug for slug, spec in FILESYSTEMS.items() if spec.journal)

# What stands in labels: the name in sysfs of today's kernels, and of what the multi-queue block
# layer renamed or dropped (noop -> none, deadline -> mq-deadline) what the paper writes.
SCHEDULER_LABELS = {
    **{name: name for name in ("none", "mq-deadline", "kyber", "bfq", "noop")},
    **{"deadline": "dl", "cfq": "cfq", "anticipatory": "as"},
}


def filesystem(slug: str) -> Filesystem:
    """The file system named ``slug``. Raises OptionError with the names there are."""
    try:
        return ALL[slug]
    except KeyError:
        raise OptionError(
            f'fsbench cannot make a file system "{slug}"; it can make {", ".join(FILESYSTEMS)}.'
        ) from None


def validated_options(slug: str, values: Mapping[str, object]) -> dict[str, str]:
    """The options with canonical values, in the file system's order. Raises OptionError.

    Empty values mean "the tool's default" and are dropped.
    """
    spec = filesystem(slug)
    for key in values:
        spec.option(key)
    return {
        option.key: option.choice(values[option.key]).value
        for option in spec.options
        if values.get(option.key) not in (None, "")
    }


def external_journal(slug: str) -> ExternalJournal:
    """How ``slug`` keeps its journal on another device. Raises OptionError where it cannot."""
    spec = filesystem(slug)
    if spec.journal is None:
        raise OptionError(
            f"{spec.name} cannot keep its journal on another device; "
            f"{', '.join(EXTERNAL_JOURNAL_FILESYSTEMS)} can."
        )
    return spec.journal
