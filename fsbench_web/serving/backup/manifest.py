"""What a backup says of itself: which files it has, what is in them, which version wrote it."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
NAME = "manifest.json"
_CHUNK = 1024 * 1024


class BackupError(Exception):
    """It cannot be made or restored; the text says why and what to do."""


@dataclass(frozen=True)
class BackupFile:
    """A file of the backup, by its path in the folder."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """``counts`` are rows by table as the dump has them; ``migrations`` are "app.name"."""

    version: str
    taken_at: str
    database: str
    server: str
    migrations: list[str]
    counts: dict[str, int]
    files: list[BackupFile]
    format: int = field(default=FORMAT)

    @property
    def dump(self) -> str:
        """The file of the database, by its path in the folder. Raises ValueError."""
        paths = [file.path for file in self.files if file.path.startswith("database.")]
        if len(paths) != 1:
            raise ValueError(f"it names {len(paths)} files of a database, not one")
        return paths[0]

    def write(self, folder: Path) -> None:
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
        (folder / NAME).write_text(f"{text}\n", encoding="utf-8")


def describe(folder: Path, path: Path) -> BackupFile:
    """Size and digest of a file in the folder."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return BackupFile(str(path.relative_to(folder)), path.stat().st_size, digest.hexdigest())


def read(folder: Path) -> Manifest:
    """The manifest, with every file as it says. Raises BackupError."""
    try:
        data: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("it is no object")
        backup_format = data.pop("format")
        if backup_format != FORMAT:
            raise BackupError(
                f"{folder} is a backup of format {backup_format}; this fsbench reads {FORMAT}."
            )
        files = [BackupFile(**file) for file in data.pop("files")]
        manifest = Manifest(files=files, **data)
        _check_kinds(manifest)
    except OSError as error:
        raise BackupError(f"{folder} is no backup: {error}.") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BackupError(f"{folder / NAME} cannot be read: {error}.") from None
    for file in manifest.files:
        path = folder / file.path
        # The manifest may come from elsewhere: it names no file outside of its folder.
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            raise BackupError(f"The backup is not whole: {file.path} is missing.")
        # The size first: a hole of many terabytes is read for days.
        if path.stat().st_size != file.size_bytes or describe(folder, path) != file:
            raise BackupError(
                f"The backup is damaged: {file.path} is not what it was when it was written."
            )
    return manifest


def _check_kinds(manifest: Manifest) -> None:
    """It may come from elsewhere. Raises ValueError."""
    if not isinstance(manifest.counts, dict) or not isinstance(manifest.migrations, list):
        raise ValueError("counts and migrations are missing")
    texts: list[object] = [manifest.version, manifest.taken_at, manifest.database]
    texts += [*manifest.migrations, *(file.path for file in manifest.files)]
    if not all(isinstance(text, str) and "\0" not in text for text in texts):
        raise ValueError("a name in it is no text")
    _ = manifest.dump
