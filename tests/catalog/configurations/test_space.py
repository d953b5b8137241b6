"""What a new file system takes of its LUN: against the manuals by hand, and against real mkfs."""

import pytest

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.journals import MIB
from fsbench_web.catalog.configurations.space import least_taken_bytes

# The part of the LUN that was not free to use (f_bavail) behind mkfs and mount with the options
# that fsbench gives: MiB of the LUN, and MiB taken. e2fsprogs 1.47.0, xfsprogs 6.1.0, btrfs-progs
# 6.2; jfsutils 1.1.15, reiserfsprogs 3.6.27 and f2fs-tools by their own checking tools.
MEASURED = [
    *[("ext2", lun, used) for lun, used in ((64, 8.5), (511, 59.8), (513, 35.0), (8192, 556.2))],
    *[("ext3", lun, used) for lun, used in ((32, 8.0), (400, 55.4), (1024, 100.5), (8192, 620))],
    *[("ext4", lun, used) for lun, used in ((32, 9.0), (400, 59.4), (1024, 117.7), (8192, 654))],
    *[("xfs", lun, used) for lun, used in ((400, 86.6), (1024, 103.0), (32768, 324.0))],
    *[("btrfs", lun, used) for lun, used in ((128, 81.0), (400, 81.0), (1024, 119.4))],
    *[("btrfs", lun, used) for lun, used in ((2048, 221.7), (8192, 529.0), (32768, 529.0))],
    *[("jfs", lun, used) for lun, used in ((64, 1.33), (1024, 4.48), (65536, 138.3))],
    *[("reiser3", lun, used) for lun, used in ((64, 32.07), (65536, 32.07))],
    *[("exfat", lun, used) for lun, used in ((16, 2.02), (1024, 2.09), (65536, 3.38))],
    *[("ntfs3", lun, used) for lun, used in ((16, 2.44), (64, 2.44), (1024, 5.59))],
    *[("f2fs", lun, used) for lun, used in ((64, 48.0), (1024, 156.0), (65536, 1406.0))],
]


@pytest.mark.parametrize(("slug", "lun_mib", "taken_mib"), MEASURED)
def test_no_file_system_takes_less_than_is_said(slug: str, lun_mib: int, taken_mib: float) -> None:
    least = least_taken_bytes(slug, {}, lun_mib * MIB)
    assert 0 < least <= taken_mib * MIB


@pytest.mark.parametrize(
    ("slug", "options", "lun_mib", "taken_mib"),
    [
        # 5% for root, an inode of 256 bytes for each 16 KiB: 51.2 + 16 MiB of 1 GiB.
        ("ext2", {}, 1024, 67.2),
        # and a journal of 8192 blocks of 4 KiB
        ("ext4", {}, 1024, 67.2 + 32),
        ("ext3", {}, 1024, 67.2 + 32),
        ("ext4", {"journal_size_mb": "100"}, 1024, 67.2 + 100),
        ("ext4", {"inode_size": "512"}, 1024, 51.2 + 32 + 32),
        # 1 KiB blocks: 1,048,576 of them have a journal of 16,384.
        ("ext4", {"block_size": "1024"}, 1024, 67.2 + 16),
        # Below 512 MiB an inode for each 4 KiB, and 1 KiB blocks: 409,600 have a journal of 8192.
        ("ext4", {}, 400, 20 + 25 + 8),
        ("btrfs", {}, 1024, 51.2),
        ("btrfs", {}, 65536, 256),
        ("xfs", {}, 65536, 40),
        ("reiser3", {}, 65536, 32),
        ("nilfs2", {}, 1000, 50),
        ("jfs", {}, 1000, 4),
    ],
)
def test_it_is_what_the_manuals_say(
    slug: str, options: dict[str, str], lun_mib: int, taken_mib: float
) -> None:
    least = least_taken_bytes(slug, options, lun_mib * MIB)
    assert least == pytest.approx(taken_mib * MIB, abs=2)


@pytest.mark.parametrize("slug", ["ext3", "ext4", "xfs", "jfs", "reiser3"])
def test_a_journal_elsewhere_takes_nothing_here(slug: str) -> None:
    here = least_taken_bytes(slug, {}, 1024 * MIB)
    assert least_taken_bytes(slug, {}, 1024 * MIB, has_external_journal=True) < here


@pytest.mark.parametrize("slug", sorted(FILESYSTEMS))
def test_more_of_a_larger_lun_is_left(slug: str) -> None:
    sizes = [FILESYSTEMS[slug].minimum_bytes * 2**power for power in range(20)]
    free = [size - least_taken_bytes(slug, {}, size) for size in sizes]
    assert all(0 < space < size for space, size in zip(free, sizes, strict=True))
    assert free == sorted(free)
