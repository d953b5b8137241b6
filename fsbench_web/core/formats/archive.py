"""Archives and compressed files -> the files in them, within limits that hold while unpacking.

Reads zip (stored or deflated), tar, tar.gz and gzip. Nothing is written to disk: paths are labels.
A link, an archive, an encrypted member or a path out of the archive becomes a problem in its place.
"""

import gzip
import io
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO

from fsbench_web.core.formats import unsupported
from fsbench_web.core.formats.result import Problem, UnreadableFile

MAX_MEMBERS = 2000
MAX_PATH_LENGTH = 400
# No text of a tool comes near it, and a bomb cannot be one without it.
MAX_RATIO = 200
_RATIO_FROM_BYTES = 4 * 1024 * 1024
# A ZipInfo takes some ten times its record: read at most this much of a zip's directory.
_MAX_DIRECTORY_BYTES = 2 * 1024 * 1024
_MAX_LONG_NAME_BYTES = 64 * 1024
_BLOCK = 512
_END_RECORD = struct.Struct("<4s4H2LH")
_NESTED = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b")
# What desktops put beside the files of a folder.
_NO_RESULT = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$|\.git/)")


@dataclass(frozen=True)
class Member:
    """A file of an archive: its path with "/" between folders, and its content or its problem."""

    path: str
    data: bytes = b""
    problem: str = ""


def is_archive(head: bytes) -> bool:
    """Whether a file that starts with ``head`` (265 bytes or more) is one that ``members`` reads.

    A spreadsheet is a zip too; ask for that first (formats.tables.spreadsheet).
    """
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b")) or _is_tar(head)


def members(name: str, file: BinaryIO, max_bytes: int) -> Iterator[Member]:
    """The files of an archive in its order, without folders and desktop litter.

    ``max_bytes`` bounds what all of it unpacks to. Raises UnreadableFile for a broken archive.
    """
    head = file.read(_BLOCK)
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if reason := unsupported.packed_problem(head):
        raise _unreadable(reason)
    budget = _Budget(max_bytes, size)
    try:
        if head.startswith(b"PK"):
            yield from _zip(file, size, budget)
        elif head.startswith(b"\x1f\x8b"):
            yield from _gzip(name, file, budget)
        else:
            yield from _tar(_BoundedReader(file, budget), budget)
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError) as error:
        raise _damaged(str(error) or type(error).__name__) from None
    except (struct.error, ValueError, NotImplementedError, OverflowError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise _damaged(str(error)) from None


def _damaged(reason: str) -> UnreadableFile:
    message = f"The archive is damaged or not complete ({reason[:120]}). Make it again."
    return UnreadableFile([Problem(None, None, message)])


def _unreadable(message: str) -> UnreadableFile:
    return UnreadableFile([Problem(None, None, message)])


class _Budget:
    def __init__(self, max_bytes: int, packed_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.packed_bytes = max(packed_bytes, 1)
        self.bytes = 0
        self.members = 0

    def take(self, count: int) -> None:
        self.bytes += count
        if self.bytes > self.max_bytes:
            raise _unreadable(
                f"The archive unpacks to more than {self.max_bytes // (1024 * 1024)} MB: import it "
                "in parts, or ask the administrator to raise FSBENCH_MAX_UPLOAD_MB."
            )
        if self.bytes > _RATIO_FROM_BYTES and self.bytes > MAX_RATIO * self.packed_bytes:
            raise _unreadable(
                f"The archive unpacks to more than {MAX_RATIO} times its size, as no output of a "
                "benchmark does. Import the files themselves."
            )

    def count(self) -> None:
        self.members += 1
        if self.members > MAX_MEMBERS:
            raise _unreadable(f"The archive has more than {MAX_MEMBERS} files: import it in parts.")


class _BoundedReader:
    """Reads from an unpacking stream and takes every byte from the budget."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, budget: _Budget):
        self._file, self._budget = file, budget

    def read(self, count: int) -> bytes:
        """``count`` bytes, or fewer at the end."""
        parts = []
        while count > 0:
            part = self._file.read(min(count, 64 * 1024))
            if not part:
                break
            self._budget.take(len(part))
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def rest(self) -> bytes:
        return self.read(self._budget.max_bytes + 1)


def _label(path: str) -> tuple[str, str]:
    """The path as a label, and what is wrong with it (or "")."""
    text = re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "\ufffd", path)
    parts = text.replace("\\", "/").split("/")
    label = "/".join(part for part in parts if part not in ("", ".", ".."))
    problem = ""
    if ".." in parts or text.startswith(("/", "\\")) or re.match("[A-Za-z]:", text):
        problem = (
            f'"{label[:100]}" is a path out of the archive. Pack the files by their own names.'
        )
    elif len(label) > MAX_PATH_LENGTH:
        problem = f"The path has more than {MAX_PATH_LENGTH} characters."
    elif not label:
        problem = "The file has no name."
    return label[:MAX_PATH_LENGTH] or "unnamed", problem


def _checked_member(path: str, data: bytes) -> Member:
    if reason := unsupported.packed_problem(data):
        return Member(path, problem=reason)
    if (data.startswith(_NESTED) and not is_spreadsheet(data)) or _is_tar(data):
        message = "An archive inside an archive is not unpacked. Import it alone, or unpack it."
        return Member(path, problem=message)
    return Member(path, data)


def is_spreadsheet(data: bytes) -> bool:
    """Whether a zip is an Office Open XML file: its first members have fixed names."""
    return data.startswith(b"PK\x03\x04") and (
        b"[Content_Types].xml" in data[:4096] or b"xl/" in data[:4096]
    )


def _is_tar(data: bytes) -> bool:
    """The magic of ustar, and of GNU's older form of it."""
    return data[257:262] == b"ustar"


# ---- zip ----


def _zip(file: BinaryIO, size: int, budget: _Budget) -> Iterator[Member]:
    if directory_bytes(file, size) > _MAX_DIRECTORY_BYTES:
        raise _unreadable(f"The archive has more than {MAX_MEMBERS} files: import it in parts.")
    with zipfile.ZipFile(file) as archive:
        # Not is_dir(): it fails for a name that is empty.
        entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
        for entry in entries:
            path, problem = _label(entry.filename)
            if _NO_RESULT.search(path):
                continue
            budget.count()
            problem = problem or _zip_problem(entry)
            if problem:
                yield Member(path, problem=problem)
                continue
            try:
                with archive.open(entry) as stream:
                    data = _BoundedReader(stream, budget).rest()
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                yield Member(path, problem=f"It is damaged inside the archive: {error}.")
                continue
            yield _checked_member(path, data)


def _zip_problem(entry: zipfile.ZipInfo) -> str:
    if entry.flag_bits & 0x1:
        return "It is encrypted. Pack it without a password."
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "It is a symbolic link. Pack the file it points to."
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "Its compression is not deflate. Pack it as an ordinary zip."
    return ""


def directory_bytes(file: BinaryIO, size: int) -> int:
    """The size of the zip's directory, found where zipfile finds it (APPNOTE 4.3.16)."""
    tail_bytes = min(size, _END_RECORD.size + 0xFFFF)
    file.seek(size - tail_bytes)
    tail = file.read(tail_bytes)
    file.seek(0)
    last = tail[-_END_RECORD.size :]
    position = len(tail) - _END_RECORD.size
    if not (last.startswith(b"PK\x05\x06") and last.endswith(b"\0\0")):
        position = tail.rfind(b"PK\x05\x06")
    if position < 0 or len(tail) - position < _END_RECORD.size:
        raise _damaged("it has no end record")
    return int(_END_RECORD.unpack_from(tail, position)[5])


# ---- gzip and tar ----


def _gzip(name: str, file: BinaryIO, budget: _Budget) -> Iterator[Member]:
    with gzip.GzipFile(fileobj=file) as stream:
        head = _BoundedReader(stream, budget).read(_BLOCK)
        is_tar = _is_tar(head)
    file.seek(0)
    budget.bytes = 0
    with gzip.GzipFile(fileobj=file) as stream:
        if is_tar:
            metered = _BoundedReader(stream, budget)
            yield from _tar(metered, budget)
            metered.rest()  # to the end: gzip's checksum is there
            return
        path, problem = _label(re.sub(r"(?i)\.gz$", "", name))
        yield (
            Member(path, problem=problem)
            if problem
            else _checked_member(path, _BoundedReader(stream, budget).rest())
        )


def _tar(stream: _BoundedReader, budget: _Budget) -> Iterator[Member]:
    """Read header by header (pax(1), tar(5)): tarfile would keep what a header claims in memory."""
    long_name, long_size = "", -1
    while True:
        header = stream.read(_BLOCK)
        if len(header) < _BLOCK:
            raise EOFError("it ends before its end marker")
        if not header.strip(b"\0"):
            return
        entry = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        if entry.type in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGLINK):
            if entry.size > _MAX_LONG_NAME_BYTES:
                raise _damaged("a header is too long")
            text = _body(stream, entry.size)
            if entry.type == tarfile.GNUTYPE_LONGNAME:
                long_name = text.rstrip(b"\0").decode("utf-8", "replace")
            elif entry.type == tarfile.XHDTYPE:
                long_name, long_size = _pax(text, long_name, long_size)
            continue
        name, size = long_name or entry.name, entry.size if long_size < 0 else long_size
        long_name, long_size = "", -1
        if entry.type in (tarfile.DIRTYPE, tarfile.XGLTYPE):
            _body(stream, size)
            continue
        path, problem = _label(name)
        if not entry.isreg():
            size = 0 if entry.islnk() or entry.issym() else size
            problem = problem or "It is a link or a device, not a file. Pack the file itself."
        data = _body(stream, size)
        if _NO_RESULT.search(path):
            continue
        budget.count()
        yield Member(path, problem=problem) if problem else _checked_member(path, data)


def _body(stream: _BoundedReader, size: int) -> bytes:
    if size < 0:
        raise _damaged("a size is negative")
    data = stream.read(size)
    padding = -size % _BLOCK
    if len(data) < size or len(stream.read(padding)) < padding:
        raise EOFError("it ends in the middle of a file")
    return data


def _pax(text: bytes, name: str, size: int) -> tuple[str, int]:
    """Path and size of an extended header: records of "LENGTH KEY=VALUE\\n"."""
    while text:
        length, _, _ = text.partition(b" ")
        count = int(length) if length.isdigit() and len(length) < 7 else 0
        if not 0 < count <= len(text):
            break
        key, _, value = text[len(length) + 1 : count - 1].partition(b"=")
        if key == b"path":
            name = value.decode("utf-8", "replace")
        elif key == b"size" and value.isdigit() and len(value) < 13:
            size = int(value)
        text = text[count:]
    return name, size
