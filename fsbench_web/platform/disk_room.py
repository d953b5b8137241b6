"""Which disks are nearly full, of those that folders of this host are on."""

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
    """Those whose disk is nearly full, one of each disk; what is not there has none."""
    short: dict[int, Path] = {}
    for folder in folders:
        try:
            device, usage = folder.stat().st_dev, shutil.disk_usage(folder)
        except OSError:
            continue
        if is_short(usage.free, usage.total):
            short.setdefault(device, folder)
    return list(short.values())
