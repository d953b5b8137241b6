"""The same blocks by another way, which the kernel takes for another device. Erasing one erases
what is mounted on the other.

Two SCSI or NVMe devices with one worldwide name are one LUN that is reached over two ports, where
no multipath puts them together (Documentation/ABI/testing/sysfs-block: wwid). Two loop devices may
stand on one file, at whatever offset (losetup(8)).

What a stacked device is made of (a loop device on a disk, an array, a multipath device, a volume)
may be used next to it. Every mapping may have what another one stands on, and a loop device claims
nothing of the disk below it (drivers/md/dm.c, _dm_claim_ptr; drivers/block/loop.c).
"""

import contextlib
import json
import re
from pathlib import Path

from runner.safety import blockdev

DISKS = Path("/sys/block")
# How LVM, and kpartx for partitions, name mappings that share devices and no block of them: LVM-
# and 32 characters of the volume group (lvm2, dev_manager.c), part1- and the disk (kpartx.c).
_GROUP, _PARTITION = re.compile(r"LVM-.{32}"), re.compile(r"part\d+-")
# Arrays of one container, bcache devices of one cache set: their own drivers keep them apart.
_OWN_DRIVER = ("md", "bcache")


def of(number: int) -> set[int]:
    """Numbers of the other devices that are this one. Raises ToolError, OSError.

    Of a partition: of the same place on the other disk, and that disk where it shows none.
    """
    disk = blockdev.whole_disk(number)
    twins = _on_the_same_file(disk) | namesakes(blockdev.sys_folder(disk))
    if disk == number:
        return twins
    place = _partition(number)
    alike: set[int] = set()
    for twin in twins:
        parts = blockdev.partitions(twin)
        alike |= {part for part in parts if _partition(part) == place} if parts else {twin}
    return alike


def lowest_number(number: int) -> int:
    """The lowest number of all that are this device: by that one they are locked."""
    try:
        return min({number} | of(number))
    except (blockdev.ToolError, OSError):
        return number  # such a device is not erased: the check of its paths cannot be made


def namesakes(disk: Path, disks: Path = DISKS) -> set[int]:
    """The other disks with the worldwide name and the size of this one; folders of sysfs.

    The size, because cheap devices have one name for all that their maker ever made.
    """
    name = _name(disk)
    if not name:
        return set()
    numbers = {
        blockdev.number_in(other)
        for other in disks.glob("*")
        if other.name != disk.name and _name(other) == name and _size(other) == _size(disk)
    }
    return {number for number in numbers if number is not None}


def _name(disk: Path) -> str:
    for place in ("wwid", "device/wwid"):
        try:
            if name := (disk / place).read_bytes().decode("utf-8", "backslashreplace").strip():
                return name
        except OSError:
            continue  # it has none, or does not say it
    return ""


def _size(disk: Path) -> str:
    try:
        return (disk / "size").read_text().strip()
    except OSError:
        return ""


def _partition(number: int) -> str:
    return (blockdev.sys_folder(number) / "partition").read_text().strip()


def _on_the_same_file(disk: int) -> set[int]:
    """The other loop devices on the file of this one; none of any other device."""
    folder = blockdev.sys_folder(disk)
    if not (folder / "loop").is_dir():
        return set()
    columns = "NAME,BACK-INO,BACK-MAJ:MIN"
    output = blockdev.run_tool("losetup", "--list", "--json", "-O", columns)
    listed = json.loads(output)["loopdevices"] if output.strip() else []
    files = {
        str(loop["name"]): (str(loop["back-ino"]), str(loop["back-maj:min"]).strip())
        for loop in listed
    }
    own_file = files.get(f"/dev/{folder.name}")
    numbers = {
        blockdev.device_number(name)
        for name, file in files.items()
        if file == own_file and name != f"/dev/{folder.name}"
    }
    return {number for number in numbers if number is not None}


def bases(number: int) -> set[int]:
    """What the device is made of, without the disks of partitions, which others may have too."""
    numbers: set[int] = set()
    waiting = [number]
    while waiting:
        current = waiting.pop()
        disk = blockdev.whole_disk(current)
        below = (blockdev.made_of(current) | blockdev.made_of(disk)) - numbers
        numbers |= below
        waiting += below
    return numbers - {number}


def disk_identity(number: int) -> dict[str, str]:
    """As blockdev.identity; of a multipath device those of the disk that its paths lead
    to, which lsblk(8) does not say of it. Raises ToolError.
    """
    identity = blockdev.identity(number)
    if "mpath-" in _line(number, "dm/uuid"):
        for base in sorted(bases(number)):
            identity = blockdev.identity(base) | identity
    return identity


def used_below(number: int) -> set[int]:
    """What the device is made of, with the partitions there: one that is mounted, swap space or
    open for writing is written to under the device.
    """
    below = blockdev.ancestors(number)
    return below.union(*map(blockdev.partitions, bases(number))) - {number}


def written_by_others(number: int) -> set[int]:
    """Of these the ones that nobody writes to as long as the device is whole. mdmon(8) keeps open
    the members of an array with a controller's own metadata, to write there what it does.
    """
    arrays = {number} | blockdev.ancestors(number)
    members: set[int] = set()
    for array in {*arrays, *map(blockdev.whole_disk, arrays)}:
        if _line(array, "md/metadata_version").startswith("external:"):
            members |= blockdev.ancestors(array)
    return used_below(number) - members


def claimed_by_none(number: int) -> set[int]:
    """What loop devices stand on, the device's own and those under it: they do not claim it, so
    that its exclusive holder is somebody else.
    """
    chain = {number, blockdev.whole_disk(number)} | blockdev.ancestors(number)
    backings = {blockdev.loop_backing(device) for device in chain}
    return {backing for backing in backings if backing is not None}


def sharers(number: int) -> dict[int, set[int]]:
    """What stands on the same devices next to it and may have the same blocks, by the device. It
    may be a second loop device or mapping, or LVM on one path of a multipath device.
    """
    chain = {number, blockdev.whole_disk(number)} | blockdev.ancestors(number)
    sharers_by_base = {}
    for base in bases(number):
        stacked = blockdev.stacked_on(base)
        own = stacked & chain
        others = {
            other
            for other in stacked - chain
            if not own or not all(_are_apart(device, other) for device in own)
        }
        if others:
            sharers_by_base[base] = others
    return sharers_by_base


def _are_apart(first: int, second: int) -> bool:
    """Whether who made both keeps them apart."""
    if (family := _family(first)) and family == _family(second):
        return True
    names = [blockdev.kernel_name(device) for device in (first, second)]
    return any(all(re.fullmatch(rf"{driver}\d+", name) for name in names) for driver in _OWN_DRIVER)


def _family(number: int) -> str:
    """The volume group, or the disk of partitions that kpartx made; "" of all others."""
    uuid = _line(number, "dm/uuid")
    if group := _GROUP.match(uuid):
        return group[0]
    return _PARTITION.sub("part-", uuid) if _PARTITION.match(uuid) else ""


def _line(number: int, name: str) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return (blockdev.sys_folder(number) / name).read_text().strip()
    return ""
