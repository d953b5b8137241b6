"""How a file system's files and its free space lie on the device: ``layout.py FOLDER DEVICE NAME``.

Prints one JSON object of the extents of the regular files below FOLDER (FIEMAP, the kernel's
Documentation/filesystems/fiemap.rst). Then it prints what the file system's own tool says of its
free space: e2freefrag(8), xfs_spaceman(8) or btrfs(8). NAME is what the kernel calls the file
system. Of more than MOST_FILES files only the first are looked at, which is said. Stdlib only.
"""

import errno
import fcntl
import json
import os
import stat
import struct
import subprocess
import sys
from dataclasses import asdict, dataclass

MOST_FILES = 200_000
FIEMAP = 0xC020660B  # _IOWR('f', 11, struct fiemap)
FLAG_SYNC = 1
# fm_start, fm_length, fm_flags, fm_mapped_extents, fm_extent_count (0: count them), reserved
REQUEST = struct.Struct("=QQLLLL")
MAPPED_AT = 3
TOOL_S = 120.0


@dataclass
class Extents:
    """Of files that have data."""

    files: int = 0
    bytes: int = 0
    extents: int = 0
    most_extents: int = 0
    fragmented_files: int = 0
    is_cut: bool = False


def extents_of(descriptor: int) -> int:
    """Raises OSError where the file system cannot say."""
    request = bytearray(REQUEST.pack(0, 2**64 - 1, FLAG_SYNC, 0, 0, 0))
    fcntl.ioctl(descriptor, FIEMAP, request)
    return int(REQUEST.unpack(request)[MAPPED_AT])


def extents_below(folder: str) -> "Extents | None":
    """Of all regular files; None where the file system does not say where they lie."""
    layout = Extents()
    for path, _, names in os.walk(folder):
        for name in names:
            descriptor = _open_file(f"{path}/{name}")
            if descriptor is None:
                continue
            try:
                size = os.fstat(descriptor).st_size
                count = extents_of(descriptor) if size else 0
            except OSError as error:
                if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY):
                    return None
                raise
            finally:
                os.close(descriptor)
            if not size:
                continue
            if layout.files == MOST_FILES:
                layout.is_cut = True
                return layout
            layout.files += 1
            layout.bytes += size
            layout.extents += count
            layout.most_extents = max(layout.most_extents, count)
            layout.fragmented_files += count > 1
    return layout


def _open_file(path: str) -> "int | None":
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # gone meanwhile
        return None


def free_space_tool(name: str, folder: str, device: str) -> list[str]:
    """The command that tells of free space; empty where there is none."""
    if name in ("ext2", "ext3", "ext4"):
        return ["e2freefrag", device]
    if name == "xfs":
        return ["xfs_spaceman", "-c", "freesp -s", folder]
    if name == "btrfs":
        return ["btrfs", "filesystem", "usage", "-b", folder]
    return []


def main(arguments: list[str]) -> int:
    folder, device, name = arguments
    layout = extents_below(folder)
    print(json.dumps({"fsbench-layout": layout and asdict(layout)}), flush=True)
    argv = free_space_tool(name, folder, device)
    if not argv:
        print(f"No tool of {name} tells of free space.")
        return 0
    print("$ " + " ".join(argv), flush=True)
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=TOOL_S).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{argv[0]}: {error}")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
