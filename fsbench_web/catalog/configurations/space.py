"""What a new file system takes of its LUN at least. Pure: no Django.

A job is refused only where its files can never fit: every figure here is at or below what was
found. The agent looks at what is really free before the benchmark begins.

Found with e2fsprogs 1.47.0, xfsprogs 6.1.0, btrfs-progs 6.2, jfsutils 1.1.15, reiserfsprogs 3.6.27
and f2fs-tools, as the part of the LUN that is not free to use (f_bavail of statvfs(3)):

| | 64 MiB | 400 MiB | 1 GiB | 8 GiB | 32 GiB |
| --- | --- | --- | --- | --- | --- |
| ext2 | 13.3% | 11.9% | 6.7% | 6.8% | 6.7% |
| ext3 | 19.5% | 13.9% | 9.8% | 7.6% | 7.5% |
| ext4 | 21.5% | 14.9% | 11.5% | 8.0% | 7.6% |
| XFS | | 21.7% | 10.1% | 1.9% | 1.0% |
| Btrfs | | 20.3% | 11.7% | 6.5% | 1.6% |
| JFS | 2.1% | | 0.4% | 0.4% | |
| ReiserFS | 50.1% | | 3.1% | 0.4% | |
| F2FS | 75.0% | | 15.2% | 5.3% | |

exFAT and NTFS leave 96% or more of 64 MiB and 99% of 1 GiB (dump.exfat of exfatprogs 1.2.0,
ntfsinfo of ntfs-3g 2022.10.3). bcachefs of Linux 6.12 leaves 89% of 512 MiB.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fsbench_web.catalog.configurations.journals import MIB

GIB, TIB = 1024 * MIB, 1024 * 1024 * MIB


@dataclass(frozen=True)
class Overhead:
    """``share`` of the LUN, ``most_bytes`` at most, and ``journal_bytes`` where it is on it."""

    share: float = 0.0
    most_bytes: float = float("inf")
    journal_bytes: int = 0


_TAKEN = {
    # The log is 10 MiB or more (64 MiB since xfsprogs 5.15); the rest are headers and reserves.
    "xfs": Overhead(0.03, 30 * MIB, journal_bytes=10 * MIB),
    # Once; twice where metadata is duplicated (mkfs.btrfs(8), -m).
    "btrfs": Overhead(0.05, 256 * MIB),
    # mkreiserfs(8), -s: 8193 blocks of 4 KiB.
    "reiser3": Overhead(journal_bytes=32 * MIB),
    "f2fs": Overhead(0.02, GIB),
    # mkfs.nilfs2(8), -r.
    "nilfs2": Overhead(0.05),
    # Two boot regions of 6 KiB; FAT, bitmap, upper case and root of a small cluster each.
    "exfat": Overhead(journal_bytes=24 * 1024),
    # zfs(4), spa_slop_shift: a 32nd is kept back; 128 MiB of a small pool, at most half of it.
    "zfs": Overhead(0.03),
    # $LogFile of a small volume (mkntfs.c, create_logfile).
    "ntfs3": Overhead(journal_bytes=2 * MIB),
    # bcachefs(8), gc_reserve_percent: 8 by default, of what the journal and super blocks leave.
    "bcachefs": Overhead(0.07),
}
_EXT = frozenset({"ext2", "ext3", "ext4"})
_EXT_RESERVED = 0.05  # mke2fs(8), -m
_EXT_SMALL_BYTES = 512 * MIB


def least_taken_bytes(
    slug: str, options: Mapping[str, object], size_bytes: int, has_external_journal: bool = False
) -> int:
    """The least bytes of ``size_bytes`` that a new file system takes; 0 for an unknown one."""
    journal = 0 if has_external_journal else _journal_bytes(slug, options, size_bytes)
    if slug in _EXT:
        inode_bytes = int(str(options.get("inode_size") or 256))
        share = _EXT_RESERVED + inode_bytes / _ext_inode_ratio(size_bytes)
        return int(share * size_bytes) + journal
    taken = _TAKEN.get(slug, Overhead())
    return int(min(taken.share * size_bytes, taken.most_bytes)) + journal


def _ext_inode_ratio(size_bytes: int) -> int:
    """Bytes for each inode: mke2fs.conf(5), types small, default, big and huge."""
    if size_bytes < _EXT_SMALL_BYTES:
        return 4096
    return 16384 if size_bytes < 4 * TIB else 32768 if size_bytes < 16 * TIB else 65536


def _journal_bytes(slug: str, options: Mapping[str, object], size_bytes: int) -> int:
    """The least journal on the LUN itself."""
    if slug in ("ext3", "ext4"):
        if options.get("journal_size_mb"):
            return int(str(options["journal_size_mb"])) * MIB
        usual = 1024 if size_bytes < _EXT_SMALL_BYTES else 4096
        block_bytes = int(str(options.get("block_size") or usual))
        blocks = size_bytes // block_bytes
        # e2fsprogs, ext2fs_default_journal_size: the least of its versions.
        steps = ((2048, 0), (32768, 1024), (1 << 18, 4096), (1 << 19, 8192), (1 << 22, 16384))
        return next((size for end, size in steps if blocks < end), 32768) * block_bytes
    if slug == "jfs":  # jfs_mkfs(8), -s
        return int(min(0.004 * size_bytes, 128 * MIB))
    return _TAKEN.get(slug, Overhead()).journal_bytes
