"""Whether folders can be written: which disks are nearly full, and what an error says of one."""

import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

# Below either of them a disk is nearly full.
FEW_FREE_BYTES = 2 * 1024**3
SMALL_FREE_SHARE = 0.05


def is_short(free_bytes: int, total_bytes: int) -> bool:
    """Whether a file system of this size is nearly full."""
    return free_bytes < FEW_FREE_BYTES or free_bytes < SMALL_FREE_SHARE * total_bytes


def short_folders(folders: Iterable[Path]) -> list[Path]:
    """One folder of each disk that is nearly full; missing folders are left out."""
    short: dict[int, Path] = {}
    for folder in folders:
        try:
            device, usage = folder.stat().st_dev, shutil.disk_usage(folder)
        except OSError:
            continue
        if is_short(usage.free, usage.total):
            short.setdefault(device, folder)
    return list(short.values())


def data_folder_problem(error: OSError, folder: Path) -> str:
    """What to do where a file of the data folder cannot be used; "" for any other error."""
    file = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    # Of a write the kernel names no file.
    if not (Path(file).is_relative_to(folder) if file else is_full):
        return ""
    advice = "Make room" if is_full else "Make it writable"
    return (
        f"The data folder {folder} cannot be used: {file or folder}: {error.strerror}. "
        f"{advice}, or choose another folder with FSBENCH_DATA."
    )
