"""Closes the files of the data folder to other accounts. Pure: settings call it."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

_OWN_FILES = ("serve.lock", "prepare.lock")
_OWN_FOLDERS = ("broker", "broker/control", "broker/queue", "luns", "spool")
_SQLITE_FILES = ("", "-wal", "-shm", "-journal")
_OTHERS = 0o077


def make_folder(path: Path) -> None:
    """Make the folder, and those above it that are missing, with mode 0700. Raises OSError."""
    for folder in reversed([path, *path.parents]):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def write_once(path: Path, text: str) -> None:
    """Write a file of mode 0600, whole or not at all; one that is there stays. Raises OSError."""
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        # Of two processes that begin at once the first one's is kept.
        with suppress(FileExistsError):
            path.hardlink_to(unfinished)
    finally:
        Path(unfinished).unlink()


def close(data_folder: Path, sqlite_file: Path | None) -> None:
    """Take what is there from other accounts, and make the database's file with mode 0600."""
    files = [data_folder / name for name in _OWN_FILES]
    if sqlite_file is not None:
        _make_file(sqlite_file)
        files += [Path(f"{sqlite_file}{end}") for end in _SQLITE_FILES]
    for path in (*files, *(data_folder / name for name in _OWN_FOLDERS)):
        with suppress(OSError):
            mode = path.lstat().st_mode & 0o777
            if mode & _OTHERS and not path.is_symlink():
                path.chmod(mode & ~_OTHERS)


def _make_file(path: Path) -> None:
    """An empty file, where there is none, of the account that has its folder."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            # Also where root calls a command first.
            folder = path.parent.stat()
            os.fchown(descriptor, folder.st_uid, folder.st_gid)
        finally:
            os.close(descriptor)
