"""One fsbench for each data folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class FolderInUse(Exception):
    """Another fsbench serves from this folder; the text says which process."""


@contextmanager
def exclusive_use(folder: Path) -> Iterator[None]:
    """Hold the folder's lock until this process ends, however it ends. Raises FolderInUse."""
    path = folder / "serve.lock"
    path.touch(mode=0o600)
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            process = lock.read().strip()
            raise FolderInUse(
                f"Another fsbench (process {process or 'unknown'}) already uses the data folder "
                f"{folder}. Stop it, or give this one a folder of its own: FSBENCH_DATA=..."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def remove_arriving(folder: Path) -> None:
    """Files of uploads that a killed process had not read yet. For who holds the lock alone."""
    for left in folder.glob("*.upload*"):
        with suppress(OSError):
            left.unlink()
