"""Journals on a device of their own. Pure: no Django.

Sources: mke2fs(8), mkfs.xfs(8), xfs(5), jfs_mkfs(8), mkreiserfs(8). Bounds found by trying
e2fsprogs 1.47, xfsprogs 6.1, jfsutils 1.1.15 and reiserfsprogs 3.6.27.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from runner.safety.marks import OWN_LABEL, OWN_LOG_UUID

MIB = 1024 * 1024
# mke2fs takes the block size of the whole file system from the journal. Without a wish it would
# choose a small one for a small journal device, so that it is always told.
EXT_DEFAULT_BLOCK_SIZE = "4096"


@dataclass(frozen=True)
class JournalLun:
    """Where a run keeps its journal: the path that commands name, and the size."""

    device: str
    size_bytes: int | None = None


@dataclass(frozen=True)
class ExternalJournal:
    """How a file system is made and mounted with its journal on another device.

    Arguments have ``{journal}`` for the device and ``{block_size}``. ``make`` makes the journal
    before mkfs; empty: mkfs does. ``capped`` is added to mkfs above ``maximum_bytes``.
    """

    minimum_bytes: int
    make: tuple[str, ...] = ()
    mkfs: tuple[str, ...] = ()
    mount: tuple[str, ...] = ()
    maximum_bytes: int | None = None
    capped: tuple[str, ...] = ()

    def make_command(self, journal: JournalLun, options: Mapping[str, object]) -> list[str]:
        """The arguments that make the journal and erase its device; empty: mkfs does it."""
        return _fill_in(self.make, journal, options)

    def mkfs_arguments(self, journal: JournalLun, options: Mapping[str, object]) -> list[str]:
        """What is added to mkfs."""
        is_capped = (
            self.maximum_bytes is not None
            and journal.size_bytes is not None
            and journal.size_bytes > self.maximum_bytes
        )
        return _fill_in((*self.mkfs, *(self.capped if is_capped else ())), journal, options)

    def mount_words(self, journal: JournalLun) -> list[str]:
        """What is added to the mount options."""
        return _fill_in(self.mount, journal, {})


def _fill_in(
    arguments: tuple[str, ...], journal: JournalLun, options: Mapping[str, object]
) -> list[str]:
    block_size = str(options.get("block_size") or EXT_DEFAULT_BLOCK_SIZE)
    return [
        argument.replace("{journal}", journal.device).replace("{block_size}", block_size)
        for argument in arguments
    ]


EXT_JOURNAL = ExternalJournal(
    # 1024 blocks and what the device keeps for itself.
    minimum_bytes=8 * MIB,
    make=(
        *("mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "{block_size}"),
        *("-L", OWN_LABEL, "{journal}"),
    ),
    mkfs=("-J", "device={journal}"),
)
XFS_LOG = ExternalJournal(
    minimum_bytes=64 * MIB,
    mkfs=("-m", f"uuid={OWN_LOG_UUID}", "-l", "logdev={journal}"),
    mount=("logdev={journal}", "nouuid"),
    # xfs_fs.h, XFS_MAX_LOG_BYTES: 2 GiB without 10 MiB.
    maximum_bytes=2038 * MIB,
    capped=("-l", "size=2038m"),
)
# The kernel finds the journals of JFS and ReiserFS by what mkfs wrote down. jfs_mkfs uses 128 MB of
# a larger device by itself, mkreiserfs 8193 blocks.
JFS_JOURNAL = ExternalJournal(
    minimum_bytes=2 * MIB,
    make=("mkfs.jfs", "-q", "-J", "journal_dev", "-L", OWN_LABEL, "{journal}"),
    mkfs=("-J", "device={journal}"),
)
REISER_JOURNAL = ExternalJournal(minimum_bytes=33 * MIB, mkfs=("-j", "{journal}"))
