"""The host's allow-list: the TOML file that says which LUNs may be erased.

Only the person who owns the disks writes it (docs/operating.md). Whatever the database says, a LUN
that is not in this file is never touched. The file is read again before every run.
"""

import os
import re
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("device", "sparse-file", "directory", "mount")
ROLES = ("data", "journal")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*(MiB|GiB|TiB)")
_UNIT_BYTES = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){0,7}")
_KEYS = (
    *("name", "kind", "path", "size", "role", "serial", "wwn", "controller", "overwrite"),
    "folder",
)
_SECTOR = 512
# What the database keeps of either (catalog.models.Lun).
_LONGEST_PATH, _LARGEST_BYTES = 300, 2**63 - 1
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LunFileError(Exception):
    """The allow-list cannot be used; the text names the file, the entry and the reason."""


@dataclass(frozen=True)
class LunEntry:
    """One ``[[lun]]``. ``size_bytes``: made so large (sparse-file) or expected so (device).

    ``folder`` is fsbench's own on a mount, below its mount point; "": ``named_folder``, which the
    worker says and the list does not (``runner.safety.mounts.mount_entry``).
    """

    name: str
    kind: str
    path: Path
    role: str = "data"
    size_bytes: int | None = None
    serial: str = ""
    wwn: str = ""
    controller: str = ""
    overwrite: bool = False
    folder: str = ""
    named_folder: str = field(default="", compare=False)

    @property
    def is_directory(self) -> bool:
        """Files are written where a file system is already: nothing is made or erased."""
        return self.kind in ("directory", "mount")

    @property
    def is_mount(self) -> bool:
        return self.kind == "mount"


def read_luns(path: Path, must_exist: bool = True) -> list[LunEntry]:
    """The LUNs of the allow-list. Raises LunFileError; one bad entry refuses the whole file."""
    try:
        # A pipe without a writer would be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            _check_owner(path, os.fstat(file.fileno()))
            content = file.read()
        if content.startswith(_BYTE_ORDER_MARK):
            raise LunFileError(
                f"{path}: it begins with a byte order mark: save it as UTF-8 without one."
            )
        document = tomllib.loads(content.decode("utf-8"))
    except FileNotFoundError:
        if not must_exist:
            return []
        raise LunFileError(f"{path}: there is no such file. See docs/operating.md.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LunFileError(f"{path}: {error}") from None
    except RecursionError:
        raise LunFileError(f"{path}: brackets in brackets, too many of them.") from None
    unknown = sorted(set(document) - {"lun"})
    if unknown:
        raise LunFileError(f"{path}: unknown key {', '.join(unknown)}; only [[lun]] is known.")
    tables = document.get("lun", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise LunFileError(f"{path}: lun must be written as [[lun]], with two brackets.")
    entries = [_entry(path, number, table) for number, table in enumerate(tables, start=1)]
    _check_unique(path, entries)
    return entries


def _check_owner(path: Path, status: os.stat_result) -> None:
    """Who can write the file can have disks erased, so root's file must belong to root.

    A worker of another user may erase them through Docker, so that everybody must not write there.
    """
    if not stat.S_ISREG(status.st_mode):
        raise LunFileError(f"{path}: this is not a file.")
    if os.geteuid() != 0:
        if status.st_mode & 0o002:
            raise LunFileError(
                f"{path}: everybody may write this file, and could have any disk erased. "
                f"Run: chmod o-w {path}"
            )
        return
    if status.st_uid != 0 or status.st_mode & 0o022:
        raise LunFileError(
            f"{path}: others than root may write this file, and could have any disk erased. "
            f"Run: chown root {path} && chmod go-w {path}"
        )


def _entry(file: Path, number: int, table: dict[str, Any]) -> LunEntry:
    name = table.get("name")
    where = f'{file}: [[lun]] number {number} ("{name}")' if name else f"{file}: [[lun]] {number}"

    def refuse(reason: str) -> LunFileError:
        return LunFileError(f"{where}: {reason}")

    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        raise refuse(f"unknown key {', '.join(unknown)}; known are {', '.join(_KEYS)}.")
    overwrite = table.get("overwrite", False)
    if not isinstance(overwrite, bool):
        raise refuse("overwrite must be true or false, without quotes.")
    texts = {key: table.get(key, "") for key in _KEYS if key != "overwrite"}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise refuse(f"{key} must be a text in quotes.")
    if not _NAME.fullmatch(texts["name"]):
        raise refuse("name must be 1 to 60 lower-case letters, digits and hyphens.")
    if texts["kind"] not in KINDS:
        raise refuse(f"kind must be one of {', '.join(KINDS)}.")
    if len(texts["controller"]) > 200:
        raise refuse("controller must be 200 characters or fewer.")
    role = texts["role"] or "data"
    if role not in ROLES:
        raise refuse(f"role must be one of {', '.join(ROLES)}.")
    path = Path(texts["path"])
    if not path.is_absolute() or ".." in path.parts or "\x00" in texts["path"]:
        raise refuse("path must be absolute and without “..”.")
    if len(texts["path"]) > _LONGEST_PATH or not texts["path"].isprintable():
        raise refuse(f"path must be {_LONGEST_PATH} characters or fewer, without line breaks.")
    entry = LunEntry(
        name=texts["name"],
        kind=texts["kind"],
        path=path,
        role=role,
        size_bytes=_size(texts["size"], refuse) if texts["size"] else None,
        serial=texts["serial"],
        wwn=texts["wwn"],
        controller=texts["controller"],
        overwrite=overwrite,
        folder=texts["folder"],
    )
    _check_kind(entry, refuse)
    return entry


def _size(text: str, refuse: Any) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise refuse(f'size is "{text}"; it must be a number and MiB, GiB or TiB, like "2 GiB".')
    size = int(float(match[1]) * _UNIT_BYTES[match[2]])
    if size <= 0 or size % _SECTOR:
        raise refuse(f"size is {size} bytes; it must be a multiple of {_SECTOR} and not 0.")
    if size > _LARGEST_BYTES:
        raise refuse(f'size is "{text}": no device is so large.')
    return size


def _check_kind(entry: LunEntry, refuse: Any) -> None:
    if entry.kind == "sparse-file" and entry.size_bytes is None:
        raise refuse('a sparse-file needs a size, like size = "2 GiB".')
    if entry.kind == "sparse-file" and entry.path.is_relative_to("/dev"):
        raise refuse('path is in /dev: write kind = "device" for a device.')
    if entry.kind == "device" and not entry.path.is_relative_to("/dev"):
        raise refuse("path of a device must be in /dev, best in /dev/disk/by-id.")
    if entry.kind != "device" and (entry.serial or entry.wwn):
        raise refuse("only a device has a serial or a wwn.")
    if entry.is_directory and (entry.size_bytes or entry.overwrite or entry.role == "journal"):
        raise refuse(f"a {entry.kind} has no size, no overwrite and cannot hold a journal.")
    if entry.folder and not entry.is_mount:
        raise refuse("only a mount has a folder.")
    if entry.folder and not _FOLDER.fullmatch(entry.folder):
        raise refuse(
            "folder is one below the mount point, without “..”: letters, digits, dots, hyphens, "
            "parts with slashes between."
        )


def _check_unique(file: Path, entries: list[LunEntry]) -> None:
    names: set[str] = set()
    places: dict[str, str] = {}
    for entry in entries:
        if entry.name in names:
            raise LunFileError(f'{file}: two LUNs are named "{entry.name}".')
        names.add(entry.name)
        # Not asked of a mount: its server may be gone.
        place = str(entry.path) if entry.is_mount else os.path.realpath(entry.path)
        if place in places:
            raise LunFileError(f'{file}: "{places[place]}" and "{entry.name}" are both {place}.')
        places[place] = entry.name
