"""The same disk by another path, which the kernel takes for another device. Erased by the one, it
is erased under whoever has the other mounted.

Two SCSI or NVMe devices with one worldwide name are one LUN that is reached over two ports, where
no multipath puts them together (Documentation/ABI/testing/sysfs-block: wwid). Two loop devices may
stand on one file, at whatever offset (losetup(8)).
"""

import json
from pathlib import Path

from runner.host import blockdev

DISKS = Path("/sys/block")


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
    """The one of all that are this device by whose number they are locked."""
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
