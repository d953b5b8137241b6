"""What tells a LUN from another one of its name, read on its host
(catalog.workers.lun_identity judges).
"""

import contextlib
import os
import re
from pathlib import Path
from typing import Any

from runner.safety import blockdev, device_aliases, mounts, sparse
from runner.safety.blockdev import ToolError, run_tool
from runner.safety.extended_stat import ExtendedStat
from runner.safety.luns import LunEntry

# UUIDs of the device mapper that say whose blocks these are: of LVM, of multipath (also of its
# partitions, by kpartx), of a LUKS header. Others say the mapping's own name again, whatever is
# below it (cryptsetup, lib/libdevmapper.c: CRYPT-PLAIN-NAME), or what somebody made up (dmsetup).
_OF_CONTENT = re.compile(r"(part\d+-)?(LVM-|mpath-)|CRYPT-LUKS\d-[0-9a-f]{32}-")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# A disk's place: its own names (vda, 0:0:0:0, virtio3) may be others after a reboot.
_PASSING = re.compile(r"^(virtio\d+|host\d+|target[\d:]+|nvme\d+(c\d+)?(n\d+)?|block)$")
# Of a SCSI address (host:channel:target:LUN) the host's number alone is counted anew.
_BORN = 0x800  # STATX_BTIME
_SCSI = re.compile(r"^\d+:(\d+:\d+:\d+)$")


def fingerprint(entry: LunEntry, device: str, own_mark: str = "") -> dict[str, Any]:
    """As lun_identity says. ``device`` is what the LUN is used as, ``own_mark`` that of its folder
    on a mount. Raises OSError, ToolError, MountError.
    """
    if entry.is_mount:
        return mounts.fingerprint(entry, own_mark)
    if entry.is_directory:
        return {"kind": entry.kind, "inode": str(entry.path.stat().st_ino)}
    number = blockdev.device_number(device)
    if number is None:
        raise ToolError(f"{device} is not a block device.")
    facts: dict[str, Any] = {"kind": entry.kind, "size_bytes": blockdev.size_bytes(number)}
    if entry.kind == "sparse-file":
        return facts | _of_file(entry.path)
    return facts | _of_device(number)


def boot_id() -> str:
    """One for each boot of the host."""
    return _BOOT_ID.read_text().strip()


def disk_of(number: int) -> str:
    """What the kernel counted the disk as: never given twice in one boot; "" of an old kernel."""
    folder = blockdev.sys_folder(blockdev.whole_disk(number))
    with contextlib.suppress(OSError):
        return (folder / "diskseq").read_text().strip()
    return ""


def _of_file(path: Path) -> dict[str, str]:
    """A file that was removed and made again is another one, also where it got the same inode."""
    inode, mark = str(path.stat().st_ino), sparse.mark_of(path)
    facts = {"inode": inode, "mark": mark, "born": birth_time(path)}
    return {key: value for key, value in facts.items() if value}


def birth_time(path: Path) -> str:
    """When a file was made, as stat(1) writes it (%.9W): in seconds, so that no time zone has a
    say. "" where its file system does not know.
    """
    status = ExtendedStat()
    if not (status.read(os.fsencode(path), 0, _BORN) and status.mask & _BORN):
        return ""
    total_ns = status.made_s * 10**9 + status.made_ns
    seconds, rest_ns = divmod(abs(total_ns), 10**9)
    return f"{'-' * (total_ns < 0)}{seconds}.{rest_ns:09}" if total_ns else ""


def _of_device(number: int) -> dict[str, str]:
    disk = blockdev.whole_disk(number)
    folder = blockdev.sys_folder(disk)
    identity = device_aliases.disk_identity(disk)
    facts = {
        "serial": identity.get("serial", ""),
        "wwn": identity.get("wwn", ""),
        "uuid": _uuid(folder),
        "offset": _line(folder / "loop/offset"),
        "slot": _slot(folder),
        "boot": boot_id(),
        "disk": _disks(disk),
    }
    if disk != number:
        part = blockdev.sys_folder(number)
        facts["partition"] = f"{_line(part / 'partition')} at {_line(part / 'start')}"
        facts["partuuid"] = run_tool(
            *("lsblk", "--nodeps", "--noheadings", "--output", "PARTUUID"),
            blockdev.path_of(number),
        ).strip()
    backing = _line(folder / "loop/backing_file")
    if backing and Path(backing).is_file():
        facts |= _of_file(Path(backing))
    return {key: value for key, value in facts.items() if value}


def _uuid(folder: Path) -> str:
    uuid = _line(folder / "dm/uuid")
    return uuid if _OF_CONTENT.match(uuid) else _line(folder / "md/uuid")


def _disks(number: int) -> str:
    """That of the disk, and those of what it stands on: a mapping may be given another one."""
    below = {blockdev.whole_disk(base) for base in device_aliases.bases(number)}
    below_numbers = sorted(map(disk_of, below))
    return " on ".join(filter(None, [disk_of(number), ", ".join(below_numbers)]))


def _slot(folder: Path) -> str:
    """Where the disk is plugged in, as its path in sysfs without counters."""
    parts = folder.parts
    if "devices" not in parts or "virtual" in parts:
        return ""
    path_parts = parts[parts.index("devices") + 1 : -2]  # without block/vda
    place = [_SCSI.sub(r"\1", part) for part in path_parts if not _PASSING.match(part)]
    if namespace := _line(folder / "nsid"):
        place.append(f"namespace {namespace}")
    return "/".join(place)


def _line(path: Path) -> str:
    with contextlib.suppress(OSError):
        return os.fsdecode(path.read_bytes()).strip()
    return ""
