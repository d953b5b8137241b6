"""May this LUN be erased? Asked of real loop devices."""

import os
import stat
import struct
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command
from fsbench_web.core.workloads.iozone import FILE_NAME as BENCHMARK_FILE
from runner.host.tuning.scheduler import SchedulerError, read_schedulers, scheduler_set
from runner.safety import blockdev, checks, locks, signatures, sparse
from runner.safety.luns import LunEntry, read_luns
from runner.worker import Host, LunUnusable
from tests.packaged import PACKAGED
from tests.runner.conftest import MIB, sparse_lun, tool, write_luns

pytestmark = pytest.mark.root


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    return make_host()


@pytest.fixture
def entry(lun_file: Path) -> LunEntry:
    return read_luns(lun_file)[0]


@pytest.fixture
def device(host: Host, entry: LunEntry) -> str:
    return host.device(entry)


@pytest.fixture
def mounted(tmp_path: Path, device: str) -> Iterator[Path]:
    point = tmp_path / "mounted"
    point.mkdir()
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", device)
    tool("mount", device, str(point))
    yield point
    tool("umount", str(point))


def failed(entry: LunEntry, lun_file: Path, device: str) -> dict[str, str]:
    results = checks.verify(entry, lun_file, device)
    return {check.name: check.message for check in results if not check.ok}


def test_an_empty_listed_device_may_be_erased(entry: LunEntry, lun_file: Path, device: str) -> None:
    results = checks.verify(entry, lun_file, device)
    assert {check.name for check in results} >= {
        *("listed", "device", "backing file", "identity", "root disk", "mounts", "swap"),
        *("holders", "openers", "exclusive", "signature"),
    }
    assert checks.problem(results) == ""


def test_a_lun_that_left_the_list_is_refused(entry: LunEntry, lun_file: Path, device: str) -> None:
    write_luns(lun_file, sparse_lun(entry.path, name="another"))
    assert "lists no LUN" in failed(entry, lun_file, device)["listed"]


def test_a_lun_that_was_changed_in_the_list_is_refused(
    entry: LunEntry, lun_file: Path, device: str
) -> None:
    write_luns(lun_file, sparse_lun(entry.path, size="500 MiB"))
    assert "was changed" in failed(entry, lun_file, device)["listed"]


def test_a_list_that_cannot_be_read_refuses_everything(
    entry: LunEntry, lun_file: Path, device: str
) -> None:
    lun_file.write_text("[[lun]]\nnme = 1\n")
    assert "unknown key nme" in failed(entry, lun_file, device)["listed"]


@pytest.mark.parametrize(
    "make",
    [
        ("mkfs.ext4", "-q", "-F"),
        ("mkfs.ext4", "-q", "-F", "-L", "home"),
        ("mkfs.xfs", "-q", "-f"),
        ("mkfs.btrfs", "-q", "-f", "-L", "fsbench2"),
        ("mkswap",),
    ],
    ids=lambda make: " ".join(make),
)
def test_what_fsbench_did_not_write_is_not_erased(
    entry: LunEntry, lun_file: Path, device: str, make: tuple[str, ...]
) -> None:
    tool(*make, device)
    problems = failed(entry, lun_file, device)
    assert set(problems) == {"signature"}
    assert "overwrite = true" in problems["signature"]


def write_at(device: str, offset: int, data: bytes) -> None:
    with Path(device).open("r+b") as disk:
        disk.seek(offset)
        disk.write(data)
    os.sync()


def lvm_label() -> bytes:
    """The label of a physical volume (lvm2, lib/format_text/layout.h), with its checksum."""
    body = struct.pack("<I8s32s", 32, b"LVM2 001", b"Abcdef" * 5 + b"xy").ljust(492, b"\0")
    crc = zlib.crc32(body, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    return struct.pack("<8sQI", b"LABELONE", 1, crc) + body


def md_super_block() -> bytes:
    """A member of an MD RAID with metadata 1.2, 4 KB from the start (md_p.h), with its checksum."""
    block = bytearray(256)
    struct.pack_into("<II", block, 0, 0xA92B4EFC, 1)
    block[16:32], block[32:64] = b"0123456789abcdef", b"host:0".ljust(32, b"\0")
    struct.pack_into("<Q", block, 144, 8)  # where it stands, in sectors
    total = sum(struct.unpack("<64I", block))
    struct.pack_into("<I", block, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
    return bytes(block)


@pytest.mark.parametrize(
    ("offset", "block", "kind"),
    [(512, lvm_label(), "LVM2_member"), (4096, md_super_block(), "linux_raid_member")],
    ids=["LVM", "MD"],
)
def test_a_member_of_an_array_that_is_not_assembled_is_not_erased(
    entry: LunEntry, lun_file: Path, device: str, offset: int, block: bytes, kind: str
) -> None:
    write_at(device, offset, block)
    problems = failed(entry, lun_file, device)
    assert set(problems) == {"signature"}
    assert kind in problems["signature"]


def test_what_is_stacked_on_it_is_refused_and_so_is_where_that_is_mounted(
    entry: LunEntry, lun_file: Path, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel without a device mapper runs these tests too: its sysfs is written here."""
    number = blockdev.device_number(device)
    assert number is not None
    (tmp_path / "dm-0").mkdir()
    (tmp_path / "dm-0" / "dev").write_text("253:0\n")
    (tmp_path / "sys").mkdir()
    for real in blockdev.sys_folder(number).iterdir():
        if real.name != "holders":
            (tmp_path / "sys" / real.name).symlink_to(real)
    (tmp_path / "sys" / "holders").mkdir()
    (tmp_path / "sys" / "holders" / "dm-0").symlink_to(tmp_path / "dm-0")
    folders = {number: tmp_path / "sys", os.makedev(253, 0): tmp_path / "dm-0"}
    sys_folder = blockdev.sys_folder
    monkeypatch.setattr(
        blockdev, "sys_folder", lambda number: folders.get(number) or sys_folder(number)
    )
    mount = blockdev.Mount("/srv/vms", "/dev/dm-0", "xfs", frozenset({os.makedev(253, 0)}))
    monkeypatch.setattr(blockdev, "all_mounts", lambda: [mount])
    problems = failed(entry, lun_file, device)
    assert "part of dm-0" in problems["holders"]
    assert "/srv/vms" in problems["mounts"]


def test_a_device_under_a_loop_device_is_refused_and_so_is_one_on_a_mounted_device(
    entry: LunEntry, lun_file: Path, device: str, tmp_path: Path
) -> None:
    """The kernel notes no holder for a loop device, and does not claim what is under it."""
    upper = tool("losetup", "--find", "--show", device)
    try:
        assert Path(upper).name in failed(entry, lun_file, device)["holders"]
        tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", device)
        (tmp_path / "mounted").mkdir()
        write_luns(lun_file, {"name": "upper", "kind": "device", "path": upper})
        assert "mounts" not in failed(read_luns(lun_file)[0], lun_file, "")
        tool("mount", device, str(tmp_path / "mounted"))
        try:
            assert str(tmp_path) in failed(read_luns(lun_file)[0], lun_file, "")["mounts"]
        finally:
            tool("umount", str(tmp_path / "mounted"))
    finally:
        tool("losetup", "--detach", upper)


def test_a_partition_table_is_not_erased(entry: LunEntry, lun_file: Path, device: str) -> None:
    label = b"\x00" * 446 + b"\x00\x01\x01\x00\x83\x01\x01\x00\x01\x00\x00\x00\x00\x01\x00\x00"
    with Path(device).open("r+b") as disk:
        disk.write(label.ljust(510, b"\x00") + b"\x55\xaa")
    assert "dos" in failed(entry, lun_file, device)["signature"]


def test_partitions_that_only_the_kernel_shows_can_be_removed_as_it_says(
    entry: LunEntry, lun_file: Path, device: str
) -> None:
    tool("addpart", device, "1", "2048", "40000")
    try:
        why = failed(entry, lun_file, device)["signature"]
        assert "wipefs" not in why
        tool(*why.partition("run: ")[2].split())
        assert failed(entry, lun_file, device) == {}
    finally:
        subprocess.run(["partx", "--delete", device], capture_output=True, check=False)


@pytest.mark.parametrize("filesystem", ["exfat", "ntfs3"])
def test_a_boot_sector_that_holds_partitions_is_a_partition_table(
    entry: LunEntry, lun_file: Path, device: str, filesystem: str
) -> None:
    """Both end as a partition table does: an empty one is none."""
    tool(*mkfs_command(filesystem, {}, device))
    assert failed(entry, lun_file, device) == {}
    with Path(device).open("r+b") as disk:
        disk.seek(446)
        disk.write(b"\x00\x01\x01\x00\x83\x01\x01\x00\x01\x00\x00\x00\x00\x01\x00\x00")
    assert "(dos)" in failed(entry, lun_file, device)["signature"]


@pytest.mark.parametrize("filesystem", ["ext2", "ext3", "ext4", "xfs", "btrfs", "exfat", "ntfs3"])
def test_what_fsbench_wrote_may_be_erased(
    entry: LunEntry, lun_file: Path, device: str, filesystem: str
) -> None:
    # One after another on the same device: no old signature may show through as a stranger's.
    for earlier in PACKAGED:
        tool(*mkfs_command(earlier, {}, device))
    tool(*mkfs_command(filesystem, {}, device))
    assert failed(entry, lun_file, device) == {}


# The first bytes at 4 KiB of what `bcachefs format -L LABEL` of bcachefs-tools 1.13.0 wrote.
BCACHEFS = bytes.fromhex(
    "bad8786e0000000000000000000000000d040d0400000000c68573f666ce90a9d96a60cf803df7ef"
    "64a7915846f9487bbf92d4653b475c2c799f85623a29423ebe09e4c20bfe7cf0"
)


@pytest.mark.parametrize("label", ["", "home", "fsbench"])
def test_bcachefs_is_seen_also_where_libblkid_does_not_know_it(
    entry: LunEntry, lun_file: Path, device: str, label: str
) -> None:
    """Before util-linux 2.39 wipefs(8) sees nothing there: such a disk was no empty one."""
    with Path(device).open("r+b") as disk:
        disk.seek(4096)
        disk.write(BCACHEFS + label.encode().ljust(32, b"\0"))
    (signature,) = signatures.of(device)
    assert (signature.type, signature.label) == ("bcachefs", label)
    assert signature.uuid == "799f8562-3a29-423e-be09-e4c20bfe7cf0"
    if label == "fsbench":
        assert failed(entry, lun_file, device) == {}
    else:
        assert "bcachefs" in failed(entry, lun_file, device)["signature"]


@pytest.mark.parametrize("filesystem", PACKAGED)
def test_no_old_bcachefs_shows_through_a_new_file_system(device: str, filesystem: str) -> None:
    with Path(device).open("r+b") as disk:
        disk.seek(4096)
        disk.write(BCACHEFS + b"fsbench".ljust(32, b"\0"))
    tool(*mkfs_command(filesystem, {}, device))
    assert {signature.label for signature in signatures.of(device)} == {"fsbench"}


def test_overwrite_allows_foreign_data_and_nothing_else(
    lun_file: Path, host: Host, mounted: Path, device: str
) -> None:
    write_luns(lun_file, sparse_lun(mounted.parent / "scratch.img", overwrite=True))
    changed = read_luns(lun_file)[0]
    tool("e2label", device, "home")
    assert set(failed(changed, lun_file, device)) >= {"mounts", "exclusive"}
    assert "signature" not in failed(changed, lun_file, device)


def test_a_mounted_device_is_refused(
    entry: LunEntry, lun_file: Path, device: str, mounted: Path
) -> None:
    problems = failed(entry, lun_file, device)
    assert str(mounted) in problems["mounts"]
    assert "exclusive" in problems


def test_a_mount_in_another_namespace_is_found(
    entry: LunEntry, lun_file: Path, device: str, tmp_path: Path
) -> None:
    point = tmp_path / "elsewhere"
    point.mkdir()
    tool("mkfs.ext4", "-q", "-F", "-L", "fsbench", device)
    script = f"mount {device} {point} && echo ready && read line"
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        assert str(point) in failed(entry, lun_file, device)["mounts"]
    finally:
        process.communicate(b"\n")


def test_swap_space_in_use_is_refused(entry: LunEntry, lun_file: Path, device: str) -> None:
    tool("mkswap", device)
    tool("swapon", device)
    try:
        assert "swapoff" in failed(entry, lun_file, device)["swap"]
    finally:
        tool("swapoff", device)


def test_a_device_that_a_process_has_open_is_refused(
    entry: LunEntry, lun_file: Path, device: str
) -> None:
    with Path(device).open("rb") as disk:
        process = subprocess.Popen(["sleep", "60"], stdin=disk)
        try:
            assert f"pid {process.pid}" in failed(entry, lun_file, device)["openers"]
        finally:
            process.kill()
            process.wait()


def test_a_file_that_is_open_by_another_name_is_refused(
    entry: LunEntry, lun_file: Path, device: str
) -> None:
    """A hard link, or a mount of its folder elsewhere: its path says nothing of it."""
    other = entry.path.with_name("other-name")
    other.hardlink_to(entry.path)
    with (
        other.open("rb") as file,
        subprocess.Popen(["/bin/sleep", "60"], stdin=file) as process,
    ):
        try:
            file.close()
            other.unlink()
            assert f"pid {process.pid}" in failed(entry, lun_file, device)["openers"]
        finally:
            process.kill()


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_device_that_is_open_by_a_node_outside_of_dev_is_refused(
    entry: LunEntry, lun_file: Path, device: str, tmp_path: Path, is_removed: bool
) -> None:
    """The /dev of a chroot or of a container's image, or one that somebody made."""
    node = tmp_path / "disk"
    os.mknod(node, 0o600 | stat.S_IFBLK, Path(device).stat().st_rdev)
    with node.open("rb") as disk, subprocess.Popen(["sleep", "60"], stdin=disk) as process:
        try:
            if is_removed:
                node.unlink()
            assert f"pid {process.pid}" in failed(entry, lun_file, device)["openers"]
        finally:
            process.kill()


def test_a_file_that_a_process_has_open_is_refused(
    entry: LunEntry, lun_file: Path, device: str
) -> None:
    """A virtual machine whose disk it is, say: the loop device is opened by nobody then."""
    with (
        entry.path.open("r+b") as file,
        subprocess.Popen(["/bin/sleep", "60"], stdin=file) as process,
    ):
        try:
            file.close()
            problems = failed(entry, lun_file, device)
            assert set(problems) == {"openers"}
            assert f"pid {process.pid}" in problems["openers"]
        finally:
            process.kill()
    assert failed(entry, lun_file, device) == {}


def test_a_device_of_another_size_is_refused(other_loop: str, lun_file: Path) -> None:
    write_luns(lun_file, {"name": "disk", "kind": "device", "path": other_loop, "size": "65 MiB"})
    entry = read_luns(lun_file)[0]
    assert "another disk" in failed(entry, lun_file, "")["identity"]


def test_a_device_without_the_listed_serial_is_refused(other_loop: str, lun_file: Path) -> None:
    write_luns(lun_file, {"name": "disk", "kind": "device", "path": other_loop, "serial": "S1"})
    entry = read_luns(lun_file)[0]
    assert "S1" in failed(entry, lun_file, "")["identity"]


def test_a_device_by_a_link_is_checked_as_what_it_is(other_loop: str, lun_file: Path) -> None:
    link = Path(f"/dev/fsbench-test-{os.getpid()}")
    link.symlink_to(other_loop)
    try:
        write_luns(lun_file, {"name": "disk", "kind": "device", "path": str(link)})
        entry = read_luns(lun_file)[0]
        results = checks.verify(entry, lun_file)
        assert checks.problem(results) == ""
        assert other_loop in results[1].message
    finally:
        link.unlink()


def test_a_link_that_leads_elsewhere_since_is_refused(
    other_loop: str, lun_file: Path, device: str
) -> None:
    """The run has looked where it leads, and a controller was reset before the checks."""
    link = Path(f"/dev/fsbench-test-{os.getpid()}")
    link.symlink_to(other_loop)
    try:
        write_luns(lun_file, {"name": "disk", "kind": "device", "path": str(link)})
        entry = read_luns(lun_file)[0]
        assert failed(entry, lun_file, other_loop) == {}
        link.unlink()
        link.symlink_to(device)
        assert f"leads to {device} now" in failed(entry, lun_file, other_loop)["path"]
        link.unlink()
        assert "no block device" in failed(entry, lun_file, other_loop)["path"]
    finally:
        link.unlink(missing_ok=True)


def directory_lun(lun_file: Path, path: Path | str) -> LunEntry:
    write_luns(lun_file, {"name": "folder", "kind": "directory", "path": str(path)})
    return read_luns(lun_file)[0]


@pytest.mark.parametrize("path", ["/", "/usr", "/var/lib", "/dev/shm", "/proc/self"])
def test_a_folder_of_the_system_is_no_lun(lun_file: Path, path: str) -> None:
    assert "operating system" in failed(directory_lun(lun_file, path), lun_file, "")["directory"]


def test_a_link_to_a_folder_of_the_system_is_no_lun(lun_file: Path, tmp_path: Path) -> None:
    (tmp_path / "innocent").symlink_to("/")
    entry = directory_lun(lun_file, tmp_path / "innocent")
    assert "operating system" in failed(entry, lun_file, "")["directory"]


def test_root_measures_no_folder_that_everybody_can_write(lun_file: Path, tmp_path: Path) -> None:
    """Somebody could put a link there after the checks. In a sticky one the kernel follows none."""
    (tmp_path / "shared").mkdir()
    entry = directory_lun(lun_file, tmp_path / "shared")
    (tmp_path / "shared").chmod(0o777)
    assert "by everybody" in failed(entry, lun_file, "")["directory"]
    for mode in (0o1777, 0o775):
        (tmp_path / "shared").chmod(mode)
        assert failed(entry, lun_file, "") == {}


def test_a_benchmark_overwrites_nobodys_file(lun_file: Path, tmp_path: Path) -> None:
    folder, precious = tmp_path / "folder", tmp_path / "precious"
    folder.mkdir()
    precious.write_text("mine")
    entry, rest = directory_lun(lun_file, folder), folder / BENCHMARK_FILE
    assert failed(entry, lun_file, "") == {}
    rest.write_text("what a killed benchmark left")
    assert failed(entry, lun_file, "") == {}
    rest.unlink()
    for make in (rest.symlink_to, rest.hardlink_to):
        make(precious)
        assert "would be overwritten" in failed(entry, lun_file, "")["directory"]
        rest.unlink()


def test_the_disk_under_the_root_file_system_is_refused(lun_file: Path) -> None:
    name = tool("findmnt", "--noheadings", "--output", "SOURCE", "/")
    number = blockdev.device_number(name)
    if number is None:
        number = next(iter(blockdev.root_disks()))
    path = f"/dev/{blockdev.kernel_name(number)}"
    write_luns(lun_file, {"name": "root", "kind": "device", "path": path, "overwrite": True})
    problems = failed(read_luns(lun_file)[0], lun_file, "")
    assert "operating system" in problems["root disk"]
    assert "mounts" in problems


def test_a_missing_device_is_refused(lun_file: Path) -> None:
    write_luns(lun_file, {"name": "gone", "kind": "device", "path": "/dev/nosuch"})
    assert "missing" in failed(read_luns(lun_file)[0], lun_file, "")["device"]


def test_a_character_device_is_no_lun(lun_file: Path) -> None:
    write_luns(lun_file, {"name": "null", "kind": "device", "path": "/dev/null"})
    assert set(failed(read_luns(lun_file)[0], lun_file, "")) == {"device"}


def test_somebody_elses_file_is_not_erased(
    entry: LunEntry, lun_file: Path, make_host: Callable[..., Host]
) -> None:
    entry.path.write_bytes(b"my thesis")
    os.truncate(entry.path, 400 * MIB)
    host = make_host()
    assert "was not made by fsbench" in failed(entry, lun_file, host.device(entry))["signature"]


def test_a_file_that_fsbench_made_may_be_erased_whatever_half_of_mkfs_left(
    entry: LunEntry, lun_file: Path, device: str
) -> None:
    with Path(device).open("r+b") as disk:
        disk.write(b"half an inode table")
    os.sync()
    assert failed(entry, lun_file, device) == {}


class TestSparseFiles:
    def test_it_is_sparse_and_attached_with_direct_io(self, entry: LunEntry, device: str) -> None:
        status = entry.path.stat()
        assert status.st_size == 400 * MIB
        assert status.st_blocks == 0
        assert sparse.uses_direct_io(device)

    def test_it_is_attached_once(self, entry: LunEntry, device: str, host: Host) -> None:
        again = sparse.attach(entry, entry.path.parent)
        assert again == sparse.Loop(device, is_ours=False)

    def test_it_is_detached_when_the_worker_stops(
        self, entry: LunEntry, device: str, host: Host
    ) -> None:
        host.stop()
        assert sparse.attached_loops(entry.path) == []

    def test_it_stays_attached_while_it_is_mounted(
        self, entry: LunEntry, device: str, host: Host, mounted: Path
    ) -> None:
        host.stop()
        assert len(sparse.attached_loops(entry.path)) == 1
        host.device(entry)

    def test_direct_io_is_switched_on_when_somebody_attached_it_without(
        self, entry: LunEntry
    ) -> None:
        sparse.make(entry, entry.path.parent)
        device = tool("losetup", "--find", "--show", str(entry.path))
        try:
            assert sparse.attach(entry, entry.path.parent).device == device
            assert sparse.uses_direct_io(device)
        finally:
            tool("losetup", "--detach", device)

    def test_a_file_of_another_size_is_refused(self, lun_file: Path, entry: LunEntry) -> None:
        entry.path.write_bytes(b"")
        os.truncate(entry.path, MIB)
        with pytest.raises(sparse.SparseFileError, match="correct the size"):
            sparse.attach(entry, entry.path.parent)

    def test_a_link_is_refused(self, lun_file: Path, entry: LunEntry, tmp_path: Path) -> None:
        (tmp_path / "target").touch()
        entry.path.symlink_to(tmp_path / "target")
        with pytest.raises(sparse.SparseFileError, match="not a regular file"):
            sparse.attach(entry, entry.path.parent)

    def test_a_folder_outside_of_the_data_folder_is_not_made(self, tmp_path: Path) -> None:
        entry = LunEntry("x", "sparse-file", tmp_path / "new" / "x.img", size_bytes=MIB)
        with pytest.raises(sparse.SparseFileError, match="make the folder first"):
            sparse.make(entry, tmp_path / "data")
        sparse.make(entry, tmp_path)
        assert entry.path.exists()

    def test_a_second_attachment_of_the_file_is_refused(
        self, entry: LunEntry, lun_file: Path, device: str
    ) -> None:
        second = tool("losetup", "--find", "--show", str(entry.path))
        try:
            assert "alone" in failed(entry, lun_file, device)["backing file"]
            with pytest.raises(sparse.SparseFileError, match="more than once"):
                sparse.attach(entry, entry.path.parent)
        finally:
            tool("losetup", "--detach", second)

    def test_on_a_disk_of_large_sectors_the_loop_device_has_them_too(
        self, entry: LunEntry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A kernel before 6.14 does no direct I/O to a disk with sectors of 4,096 bytes else."""
        ask = sparse.uses_direct_io

        def as_before(device: str) -> bool:
            number = blockdev.device_number(device)
            assert number is not None
            sectors = blockdev.queue_folder(number) / "logical_block_size"
            return int(sectors.read_text()) >= 4096 and ask(device)

        monkeypatch.setattr(sparse, "uses_direct_io", as_before)
        loop = sparse.attach(entry, entry.path.parent)
        try:
            assert loop.is_ours
            assert as_before(loop.device)
        finally:
            assert sparse.detach(loop, entry.path) == ""


class TestLocks:
    def test_a_device_is_locked_for_one(self, device: str) -> None:
        with (
            locks.device_lock(Path(device)),
            pytest.raises(locks.LockedElsewhere, match="Submit the run again once it is free"),
            locks.device_lock(Path(device)),
        ):
            pass
        with locks.device_lock(Path(device)):
            pass

    def test_a_lock_that_is_held_for_a_moment_is_waited_for(self, device: str) -> None:
        """Who detached a loop device still has its lock when the kernel gives its number again."""

        def take() -> str:
            with locks.device_lock(Path(device), wait_s=30):
                return "taken"

        with ThreadPoolExecutor(1) as thread:
            with locks.device_lock(Path(device)):
                waiting = thread.submit(take)
                with pytest.raises(TimeoutError):
                    waiting.result(0.3)
            assert waiting.result(30) == "taken"

    def test_devices_are_locked_apart(self, device: str, other_loop: str) -> None:
        with locks.device_lock(Path(device)), locks.device_lock(Path(other_loop)):
            pass

    def test_a_folder_of_somebody_else_is_not_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        (tmp_path / "fsbench-4711").mkdir()
        with pytest.raises(RuntimeError, match="private folder"):
            locks.lock_folder()


class TestScheduler:
    def test_it_is_set_read_back_and_restored(self, device: str) -> None:
        number = blockdev.device_number(device)
        assert number is not None
        before, offered = read_schedulers(number)
        scheduler = next(name for name in offered if name != before)
        with scheduler_set(number, scheduler) as effective:
            assert effective == scheduler
            assert read_schedulers(number)[0] == scheduler
        assert read_schedulers(number)[0] == before

    def test_it_is_restored_after_a_failure(self, device: str) -> None:
        number = blockdev.device_number(device)
        assert number is not None
        before, offered = read_schedulers(number)
        scheduler = next(name for name in offered if name != before)
        with pytest.raises(ZeroDivisionError), scheduler_set(number, scheduler):
            raise ZeroDivisionError
        assert read_schedulers(number)[0] == before

    def test_one_that_the_device_does_not_offer_is_refused(self, device: str) -> None:
        number = blockdev.device_number(device)
        assert number is not None
        with (
            pytest.raises(SchedulerError, match=r"does not offer .*anticipatory"),
            scheduler_set(number, "anticipatory"),
        ):
            pass


class TestHost:
    def test_it_announces_a_usable_lun(self, host: Host, device: str) -> None:
        (lun,) = host.announcement().luns
        assert (lun.name, lun.kind, lun.role) == ("scratch", "sparse-file", "data")
        assert lun.problem == ""
        assert lun.device == "/dev/fsbench/scratch"
        assert lun.size_bytes == 400 * MIB
        assert "mq-deadline" in lun.schedulers
        assert lun.scheduler == read_schedulers(blockdev.device_number(device) or 0)[0]
        assert ["Device", device] in lun.identity

    def test_it_notices_that_a_lun_was_mounted(self, host: Host, mounted: Path) -> None:
        host.refresh()
        assert "mounted on" in host.announcement().luns[0].problem

    def test_a_lun_of_a_running_run_has_no_problem(self, host: Host, mounted: Path) -> None:
        with host.reserve("scratch"):
            host.refresh()
            assert host.announcement().luns[0].problem == ""

    def test_it_follows_the_list(self, host: Host, lun_file: Path, device: str) -> None:
        write_luns(lun_file)
        host.refresh()
        assert host.announcement().luns == []
        assert sparse.attached_loops(lun_file.parent / "scratch.img") == []

    def test_a_bad_list_is_a_problem_of_every_lun(self, host: Host, lun_file: Path) -> None:
        lun_file.write_text("x = 1\n")
        host.refresh()
        assert "unknown key x" in host.announcement().luns[0].problem
        with pytest.raises(LunUnusable, match="unknown key x"):
            host.entry("scratch")

    def test_an_unknown_lun_is_refused(self, host: Host) -> None:
        with pytest.raises(LunUnusable, match="lists no LUN “sda”"):
            host.entry("sda")


def test_a_device_that_somebody_looks_at_for_a_moment_is_detached_all_the_same(
    host: Host, entry: LunEntry, device: str
) -> None:
    descriptor = os.open(device, os.O_RDONLY | os.O_EXCL)
    threading.Timer(0.3, os.close, [descriptor]).start()
    assert sparse.detach(sparse.Loop(device, True), entry.path) == ""
    # Its number is free again, for another process of the tests.
    assert dict(sparse.backing_files()).get(device) != str(entry.path)


def test_a_loop_device_whose_file_was_replaced_is_not_forgotten(
    host: Host, entry: LunEntry, device: str
) -> None:
    entry.path.unlink()
    again = host.device(entry)
    assert dict(sparse.backing_files()).get(again) == str(entry.path)
    assert again == device or dict(sparse.backing_files()).get(device) != str(entry.path)


@pytest.mark.parametrize(("user", "advice"), [(1000, "as root"), (0, "on the host itself")])
def test_what_the_kernel_does_not_let_open_says_who_may(
    monkeypatch: pytest.MonkeyPatch, user: int, advice: str
) -> None:
    """A container without the device, most often: it was "[Errno 1] Operation not permitted"."""

    def refuse(*arguments: object) -> int:
        raise PermissionError(1, "Operation not permitted", "/dev/sdx")

    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "open", refuse)
    _, exclusive = checks._exclusive(0, "/dev/sdx")
    check = checks._make_check("signature", lambda: (refuse() > 0, ""))
    for message in (exclusive, check.message):
        assert "/dev/sdx may not be opened (Operation not permitted)" in message
        assert advice in message
        assert "Errno" not in message
