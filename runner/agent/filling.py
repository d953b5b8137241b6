"""``fsbench-agent --fill PERCENT FOLDER``: files of random data until a file system is so full."""

import os
import sys

FILL_FILE_BYTES = 64 * 1024 * 1024
FILL_CHUNK_BYTES = 1024 * 1024


def fill(percent: int, folder: str) -> int:
    """Write random files through to the device until ``percent`` are in use; the exit status."""
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102 (plain os is what a container has)
        room = os.statvfs(folder)
        total = room.f_blocks * room.f_frsize
        goal = total * percent // 100 - (room.f_blocks - room.f_bfree) * room.f_frsize
        written = files = 0
        while written < goal:
            size = min(FILL_FILE_BYTES, goal - written)
            _write_random(f"{folder}/{files:08d}", size)
            written, files = written + size, files + 1
            sys.stderr.write(f"\r{written} of {goal} bytes")
            sys.stderr.flush()
        room = os.statvfs(folder)
    except OSError as error:
        sys.stderr.write(f"\nThe file system cannot be filled: {error.strerror}\n")
        return 1
    used = 100.0 * (room.f_blocks - room.f_bfree) / max(room.f_blocks, 1)
    print(f"\n{files} files with {written} bytes written; {used:.1f}% of the file system in use")
    return 0


def _write_random(path: str, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        left = size
        while left:
            left -= os.write(descriptor, os.urandom(min(left, FILL_CHUNK_BYTES)))
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
