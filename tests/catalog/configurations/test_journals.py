"""Journals on a device of their own: what is added to which command."""

import pytest

from fsbench_web.catalog.configurations.commands.filesystem import (
    journal_command,
    mkfs_command,
    mount_command,
)
from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import OptionError
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.core.workloads import presets
from runner.safety.marks import OWN_LOG_UUID

LOG = JournalLun("/dev/log", 256 * 2**20)
MATRIX = presets()["iozone-small"].workload()


def test_ext_makes_the_journal_first_with_the_block_size_of_the_file_system() -> None:
    options = {"block_size": "1024", "journal_mode": "journal"}
    assert journal_command("ext3", options, LOG) == [
        *("mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "1024", "-L", "fsbench", "/dev/log")
    ]
    assert journal_command("ext4", {}, LOG)[5:7] == ["-b", "4096"]
    mkfs = mkfs_command("ext3", options, "/dev/data", LOG)
    assert mkfs[-5:] == ["-b", "1024", "-J", "device=/dev/log", "/dev/data"]
    assert mount_command("ext3", options, "/dev/data", "/m", LOG) == [
        *("mount", "-t", "ext3", "-o", "data=journal", "/dev/data", "/m")
    ]


def test_the_log_of_xfs_is_named_for_mkfs_and_for_mount() -> None:
    assert journal_command("xfs", {}, LOG) == []
    assert mkfs_command("xfs", {"agcount": "4"}, "/dev/data", LOG) == [
        *("mkfs.xfs", "-q", "-f", "-L", "fsbench", "-dagcount=4"),
        *("-m", f"uuid={OWN_LOG_UUID}", "-l", "logdev=/dev/log", "/dev/data"),
    ]
    assert mount_command("xfs", {"atime": "noatime"}, "/dev/data", "/m", LOG) == [
        *("mount", "-t", "xfs", "-o", "noatime,logdev=/dev/log,nouuid", "/dev/data", "/m")
    ]


@pytest.mark.parametrize(("mib", "is_capped"), [(64, False), (2038, False), (2039, True)])
def test_a_log_that_is_larger_than_xfs_takes_is_used_in_part(mib: int, is_capped: bool) -> None:
    mkfs = mkfs_command("xfs", {}, "/dev/data", JournalLun("/dev/log", mib * 2**20))
    assert ("size=2038m" in mkfs) == is_capped


def test_jfs_and_reiserfs() -> None:
    assert journal_command("jfs", {}, LOG) == [
        *("mkfs.jfs", "-q", "-J", "journal_dev", "-L", "fsbench", "/dev/log")
    ]
    assert mkfs_command("jfs", {}, "/dev/data", LOG)[-3:] == ["-J", "device=/dev/log", "/dev/data"]
    assert journal_command("reiser3", {}, LOG) == []
    assert mkfs_command("reiser3", {}, "/dev/data", LOG) == [
        *("mkfs.reiserfs", "-q", "-f", "-f", "-l", "fsbench", "-j", "/dev/log", "/dev/data")
    ]
    assert mount_command("reiser3", {"tails": "off"}, "/dev/data", "/m", LOG) == [
        *("mount", "-t", "reiserfs", "-o", "notail", "/dev/data", "/m")
    ]


@pytest.mark.parametrize("slug", ["ext2", "btrfs", "f2fs", "nilfs2"])
def test_a_file_system_that_cannot_do_it_says_which_can(slug: str) -> None:
    for command in (
        lambda: journal_command(slug, {}, LOG),
        lambda: mkfs_command(slug, {}, "/dev/data", LOG),
        lambda: mount_command(slug, {}, "/dev/data", "/m", LOG),
    ):
        with pytest.raises(OptionError, match="ext3, ext4, xfs, jfs, reiser3 can"):
            command()


def test_the_journal_is_made_before_the_file_system() -> None:
    planned = run_commands("ext4", {}, MATRIX, "/dev/data", "/m", True, journal=LOG)
    assert [command.phase for command in planned] == [
        *("journal", "mkfs", "mount", "benchmark", "sync", "unmount")
    ]
    planned = run_commands("xfs", {}, MATRIX, "/dev/data", "/m", True, journal=LOG)
    assert [command.phase for command in planned] == [
        "mkfs",
        "mount",
        "benchmark",
        "sync",
        "unmount",
    ]


def test_a_folder_keeps_its_journal() -> None:
    with pytest.raises(OptionError, match="journal stays where it is"):
        run_commands("ext4", {}, MATRIX, "/srv/folder", "/srv/folder", False, journal=LOG)
