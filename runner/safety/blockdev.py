"""What the kernel knows of block devices: relatives, mounts, swap, holders, identity.

Everything is asked by device number (major:minor), because names move between reboots. Sources:
sysfs(5), proc_pid_mountinfo(5).
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SYS_BLOCK = Path("/sys/dev/block")
PROC = Path("/proc")
# A host tool that hangs must not hang the worker: every call has this limit.
TOOL_TIMEOUT_S = 60
TOOL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# After a run its data may have to be written back before the device is free.
FREE_AGAIN_S = 120.0
# linux/loop.h: LOOP_GET_STATUS64, and lo_rdevice of struct loop_info64 behind two other numbers.
_LOOP_GET_STATUS, _LOOP_RDEVICE = 0x4C05, struct.Struct("=16xQ208x")
# Whoever asks for a file there asks its server, which may hang; no disk has its node there.
_SHARES = re.compile(r"nfs4?|cifs|smb3|ceph|lustre|9p|afs|beegfs|gpfs|fuse(\..*)?")


class ToolError(Exception):
    """A tool of the host is missing or failed; the text names it and what it said."""


def run_tool(*argv: str, accepted: tuple[int, ...] = (0,)) -> str:
    """Standard output of a tool of the host. Raises ToolError."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            # A label may be in any encoding, and its disk is to be refused for what it is.
            encoding="utf-8",
            errors="backslashreplace",
            timeout=TOOL_TIMEOUT_S,
            env={"PATH": TOOL_PATH, "LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError:
        raise ToolError(f"{argv[0]} is not installed on this host.") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{argv[0]} failed: {error}.") from None
    if done.returncode not in accepted:
        text = (done.stderr or done.stdout).strip()
        raise ToolError(f"{' '.join(argv)} ended with exit status {done.returncode}: {text}")
    return done.stdout


def device_number(path: str | Path) -> int | None:
    """The number of the block device at ``path`` (symlinks followed), None if there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_rdev if stat.S_ISBLK(status.st_mode) else None


def as_text(number: int) -> str:
    return f"{os.major(number)}:{os.minor(number)}"


def sys_folder(number: int) -> Path:
    """The device's own folder in sysfs, with symlinks resolved: the kernel has one, straight there.

    Asked some hundred times a run, and resolving each part of a path takes seven times as long.
    """
    link = f"{SYS_BLOCK}/{as_text(number)}"
    try:
        return Path(os.path.normpath(f"{SYS_BLOCK}/{os.readlink(link)}"))  # noqa: PTH115
    except OSError:
        return Path(link)


def kernel_name(number: int) -> str:
    return sys_folder(number).name


def path_of(number: int) -> str:
    """Its node in /dev, by the kernel's own name."""
    return f"/dev/{kernel_name(number).replace('!', '/')}"


def number_in(folder: Path) -> int | None:
    """The number of the device of this folder in sysfs; None where it has none."""
    try:
        major, _, minor = (folder / "dev").read_text().strip().partition(":")
        return os.makedev(int(major), int(minor))
    except (OSError, ValueError):
        return None


def near_cpus(number: int, nodes: Path = Path("/sys/devices/system/node")) -> list[int]:
    """The processors of the NUMA node that the device is attached to; empty where nobody says.

    A device has the node of the bus above it: Documentation/ABI/testing/sysfs-bus-pci, numa_node.
    """
    for folder in (sys_folder(number), *sys_folder(number).parents):
        try:
            node = int((folder / "numa_node").read_text())
        except (OSError, ValueError):
            continue
        if node < 0:
            return []
        try:
            return cpu_list((nodes / f"node{node}/cpulist").read_text())
        except (OSError, ValueError):
            return []
    return []


def cpu_list(text: str) -> list[int]:
    """The kernel's lists: ``0-3,8`` as [0, 1, 2, 3, 8]. Raises ValueError."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def whole_disk(number: int) -> int:
    """The disk of a partition; the device itself when it is none."""
    folder = sys_folder(number)
    if (folder / "partition").exists():
        return number_in(folder.parent) or number
    return number


def disk_path(device: str) -> str:
    """The path of the whole disk: rates can be limited of that alone. Raises ToolError."""
    number = device_number(device)
    if number is None:
        raise ToolError(f"{device} is not a block device: its rate cannot be limited.")
    disk = whole_disk(number)
    return device if disk == number else path_of(disk)


def partitions(number: int) -> set[int]:
    folder = sys_folder(number)
    numbers = {number_in(child.parent) for child in folder.glob("*/partition")}
    return {child for child in numbers if child is not None}


def _links(number: int, kind: str) -> set[int]:
    folder = sys_folder(number) / kind
    numbers = {number_in(child.resolve()) for child in folder.glob("*")}
    return {child for child in numbers if child is not None}


def loop_backing(number: int) -> int | None:
    """The block device that a loop device stands on; None for a file, and for all others."""
    loop = sys_folder(number)
    try:
        path = os.fsdecode((loop / "loop" / "backing_file").read_bytes()[:-1])
    except OSError:
        return None
    if _is_on_share(path):
        return None
    # The kernel says which device that is. The path is that of whoever attached it: of a node
    # outside of /dev, or in the /dev of a container.
    try:
        descriptor = os.open(path_of(number), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # not this user's to open, or no node of it is here
        return device_number(path) if path.startswith("/dev/") else None
    status = bytearray(_LOOP_RDEVICE.size)
    try:
        fcntl.ioctl(descriptor, _LOOP_GET_STATUS, status)
    except OSError:
        return None  # detached meanwhile
    finally:
        os.close(descriptor)
    return _LOOP_RDEVICE.unpack(status)[0] or None


def _is_on_share(path: str) -> bool:
    for line in _mountinfo(PROC / "self").split("\n"):
        before, _, after = line.partition(" - ")
        if _SHARES.fullmatch(after.split(" ", 1)[0]):
            point = _unescape(before.split(" ")[4])
            if path.startswith(f"{point.rstrip('/')}/"):
                return True
    return False


def made_of(number: int) -> set[int]:
    """What a RAID, LVM, crypt or loop device stands on; nothing for a disk and its partitions."""
    backing = loop_backing(number)
    return _links(number, "slaves") | ({backing} if backing else set())


def _devices_below(number: int) -> set[int]:
    return ({whole_disk(number)} | made_of(number)) - {number}


def _devices_above(number: int) -> set[int]:
    """What is stacked on the device. The kernel notes no holder for a loop device on it."""
    numbers = {number_in(loop) for loop in Path("/sys/block").glob("loop*")}
    loops = {loop for loop in numbers if loop is not None and loop_backing(loop) == number}
    return _links(number, "holders") | loops


def ancestors(number: int) -> set[int]:
    """What the device is made of: its disk, and the devices below a RAID, LVM, crypt or loop layer.

    A loop device on a file is made of nothing.
    """
    numbers: set[int] = set()
    waiting = [number]
    while waiting:
        current = waiting.pop()
        for below in _devices_below(current):
            if below not in numbers:
                numbers.add(below)
                waiting.append(below)
    return numbers - {number}


def leaves(number: int) -> set[int]:
    """What an array or a mapping is made of in the end: devices that are made of nothing else."""
    below = _links(number, "slaves")
    return {leaf for device in below for leaf in leaves(device)} if below else {number}


def descendants(number: int) -> set[int]:
    """What is made of the device: its partitions, and everything stacked on it or on them."""
    numbers: set[int] = set()
    waiting = [number]
    while waiting:
        current = waiting.pop()
        for above in partitions(current) | _devices_above(current):
            if above not in numbers:
                numbers.add(above)
                waiting.append(above)
    return numbers - {number}


def stacked_on(number: int) -> set[int]:
    """What is stacked on the device, on one of its partitions, or on the disk that it is a
    partition of. A loop device on that one has it as well, and the kernel notes no holder.
    """
    stacked = _devices_above(number) | _devices_above(whole_disk(number))
    for partition in partitions(number):
        stacked |= _devices_above(partition)
    return stacked


def holders(number: int) -> list[str]:
    """The names of all that is stacked on it."""
    return sorted(kernel_name(holder) for holder in stacked_on(number))


@dataclass(frozen=True)
class Mount:
    """A mount in some mount namespace; ``numbers`` are the block devices it stands on.

    ``number`` is the one that files on it have, ``options`` are those in effect, joined by commas.
    """

    point: str
    source: str
    filesystem: str
    numbers: frozenset[int]
    number: int = 0
    options: str = ""


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def parse_mountinfo(text: str) -> Iterator[Mount]:
    """The mounts of a mountinfo file.

    Btrfs shows an anonymous device number there, so the source path counts as well.
    """
    # The kernel escapes these two alone: names may have all else that counts as a space or line.
    for line in text.split("\n"):
        before, _, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(rest) < 2:
            continue
        major, _, minor = fields[2].partition(":")
        number = os.makedev(int(major), int(minor))
        numbers = {number}
        source = _unescape(rest[1])
        named = device_number(source) if source.startswith("/") else None
        if named is not None:
            numbers.add(named)
        words = dict.fromkeys([*fields[5:6], *rest[2:3]])
        yield Mount(
            *(_unescape(fields[4]), source, rest[0], frozenset(numbers)),
            number,
            _unescape(",".join(dict.fromkeys(",".join(words).split(",")))),
        )


def _mountinfo(process: Path) -> str:
    # Names are bytes: one that is no text must not hide all the others.
    return (process / "mountinfo").read_bytes().decode("utf-8", "backslashreplace")


def mounts_of(process: Path) -> list[Mount]:
    """The mounts that a process (its folder in /proc) sees. Raises OSError."""
    return list(parse_mountinfo(_mountinfo(process)))


def own_mounts() -> list[Mount]:
    """The mounts that this process sees."""
    return mounts_of(PROC / "self")


def processes() -> list[str]:
    """The numbers of all processes, as they are called in /proc."""
    with os.scandir(PROC) as entries:
        return [entry.name for entry in entries if entry.name.isdecimal()]


def all_mounts() -> list[Mount]:
    """The mounts of every mount namespace this process can see (as root: of all)."""
    seen: set[str] = set()
    mounts: list[Mount] = []
    for process in ["self", *processes()]:
        try:
            namespace = os.readlink(f"{PROC}/{process}/ns/mnt")  # noqa: PTH115 (a Path of each takes long)
            if namespace in seen:
                continue
            mounts += mounts_of(PROC / process)
            seen.add(namespace)
        except OSError:
            continue  # ended meanwhile, or not ours to see
    return mounts


def swap_numbers() -> set[int]:
    lines = (PROC / "swaps").read_bytes().split(b"\n")[1:]
    numbers = {device_number(_unescape(os.fsdecode(line.split()[0]))) for line in lines if line}
    return {number for number in numbers if number is not None}


def root_disks() -> set[int]:
    """The disks under ``/``, ``/boot``, ``/boot/efi``, ``/usr`` and ``/var``.

    Those of the first process too. Where the worker is in a container that shares the host's
    processes, its own ``/`` is an image, and the first process's is the host's.
    """
    texts = {_mountinfo(PROC / "self")}
    with contextlib.suppress(OSError):  # not ours to see without root
        texts.add(_mountinfo(PROC / "1"))
    points = ("/", "/boot", "/boot/efi", "/usr", "/var")
    mounts = [mount for text in texts for mount in parse_mountinfo(text) if mount.point in points]
    numbers = {number for mount in mounts for number in mount.numbers if os.major(number)}
    return numbers.union(*map(ancestors, numbers))


def size_bytes(number: int) -> int:
    """The device's size; sysfs counts sectors of 512 bytes whatever the device's own are."""
    return int((sys_folder(number) / "size").read_text()) * 512


def can_discard(number: int) -> bool:
    """Whether the device takes discard (TRIM)."""
    try:
        return int((queue_folder(number) / "discard_max_bytes").read_text()) > 0
    except (OSError, ValueError):
        return False


def is_read_only(number: int) -> bool:
    return (sys_folder(number) / "ro").read_text().strip() == "1"


def identity(number: int) -> dict[str, str]:
    """serial, wwn, model, rev (firmware) and tran (transport) as far as known. Raises ToolError."""
    columns = "SERIAL,WWN,MODEL,REV,TRAN"
    output = run_tool("lsblk", "--nodeps", "--json", "-o", columns, path_of(number))
    device = json.loads(output)["blockdevices"][0]
    return {key: str(value).strip() for key, value in device.items() if value}


def queue_folder(number: int) -> Path:
    return sys_folder(whole_disk(number)) / "queue"


def wait_until_free(device: str, within_s: float, meanwhile: Callable[[], object]) -> bool:
    """Wait until nobody has the device mounted or exclusively open. False when it stayed in use."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as error:
            if error.errno != errno.EBUSY:
                return True
        else:
            return True
        if time.monotonic() > deadline:
            return False
        meanwhile()
        time.sleep(0.2)
