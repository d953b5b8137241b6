"""Whether folders can be written."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsbench_web.platform import disk_room

GIB = 1024**3


@pytest.mark.parametrize(
    ("free_bytes", "total_bytes", "is_short"),
    [
        (GIB, 10 * GIB, True),
        (3 * GIB, 10 * GIB, False),
        (40 * GIB, 1000 * GIB, True),
        (60 * GIB, 1000 * GIB, False),
    ],
)
def test_of_a_large_disk_more_must_be_free(
    free_bytes: int, total_bytes: int, is_short: bool
) -> None:
    assert disk_room.is_short(free_bytes, total_bytes) == is_short


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system that never has much."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path], check=True)
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.root
def test_each_disk_is_named_once(small: Path) -> None:
    for name in ("one", "two"):
        (small / name).mkdir()
    folders = [small / "one", small / "two", small / "absent"]
    assert disk_room.short_folders(folders) == [small / "one"]
    assert os.statvfs(small).f_bavail > 0


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EROFS, "Read-only file system", "{}/broker"), "{}/broker: Read-only file"),
        (OSError(errno.ENOSPC, "No space left", "{}/static/a.css"), "Make room"),
        (OSError(errno.EDQUOT, "Quota exceeded"), "Make room"),
        (OSError(errno.EROFS, "Read-only file system", "/elsewhere"), ""),
        (OSError(errno.ENOSPC, "No space left", "/elsewhere"), ""),
        (OSError(errno.EBADF, "Bad file descriptor"), ""),
        (TimeoutError("timed out"), ""),
    ],
)
def test_what_is_wrong_with_the_data_folder_is_a_sentence(
    error: OSError, words: str, tmp_path: Path
) -> None:
    if error.filename:
        error.filename = error.filename.format(tmp_path)
    said = disk_room.data_folder_problem(error, tmp_path)
    assert bool(said) == bool(words)
    assert words.format(tmp_path) in said
    assert ("FSBENCH_DATA" in said) == bool(words)
