"""The first ``luns.toml``: one LUN to try fsbench with, which harms nobody's disk."""

import json
import shutil
from pathlib import Path

from fsbench_web.platform import private_files

MIB = 2**20
LARGEST_BYTES = 4 * 1024 * MIB
# mkfs.xfs refuses less than 300 MiB; a smaller LUN is of little use.
SMALLEST_BYTES = 512 * MIB

_HEAD = """\
# The LUNs of this machine that fsbench may ERASE. See docs/operating.md before you add a disk.
# Made at the first start; it is never changed again, and read anew before every run.
"""


def prepare_luns_file(folder: Path, *, is_root: bool) -> str | None:
    """Write ``folder/luns.toml`` unless it is there. Returns a sentence about what it was given.

    Root gets a sparse file behind a loop device, with real mkfs and mount; others get a folder.
    """
    file = folder / "luns.toml"
    if file.exists():
        return None
    size_bytes = sparse_size(shutil.disk_usage(folder).free)
    has_loop_devices = Path("/dev/loop-control").exists()
    if is_root and has_loop_devices and size_bytes:
        place = folder / "luns" / "scratch.img"
        lun = {"kind": "sparse-file", "path": str(place), "size": f"{size_bytes // MIB} MiB"}
        sentence = f"Made the LUN “scratch”: a sparse file of {size_bytes // MIB} MiB, {place}"
    else:
        place = folder / "luns" / "scratch"
        private_files.make_folder(place)
        lun = {"kind": "directory", "path": str(place)}
        reason = "not root" if not is_root else "no loop devices, or too little free space"
        sentence = f"Made the LUN “scratch”: the folder {place}, without mkfs ({reason})"
    private_files.make_folder(place.parent)
    lines = [_HEAD, "[[lun]]", 'name = "scratch"']
    # A JSON text without \\u escapes is a TOML basic string.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in lun.items()]
    unfinished = file.with_suffix(".part")
    unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
    unfinished.chmod(0o600)
    unfinished.rename(file)
    return sentence


def sparse_size(free_bytes: int) -> int:
    """Half of the free space in steps of 256 MiB, at most 4 GiB; 0 when that is too little."""
    size = min(LARGEST_BYTES, free_bytes // 2 // (256 * MIB) * (256 * MIB))
    return size if size >= SMALLEST_BYTES else 0
