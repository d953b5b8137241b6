"""What the crash workload does, and what must be there after a crash. Stdlib only.

An operation promises something only with its sync. As POSIX has it, fsync of a file promises its
content, and fsync of its folder promises its name.
"""

import ctypes
import hashlib
import mmap
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

CREATE, WRITE, OVERWRITE, APPEND = "create", "write", "overwrite", "append"
TRUNCATE, RENAME, LINK, UNLINK = "truncate", "rename", "link", "unlink"
KINDS = (CREATE, WRITE, OVERWRITE, APPEND, TRUNCATE, RENAME, LINK, UNLINK)
NONE, FSYNC, FDATASYNC, DSYNC, MSYNC = "none", "fsync", "fdatasync", "dsync", "msync"
RANGE, FOLDER, SYNC = "sync_file_range", "folder", "sync"
_OF_NAMES = (FOLDER, SYNC, NONE)
_OF_DATA = (FSYNC, FDATASYNC, DSYNC, RANGE, SYNC)
SYNCS = {
    CREATE: (FSYNC, FOLDER, SYNC, NONE),
    WRITE: _OF_DATA,
    OVERWRITE: (MSYNC, *_OF_DATA),
    APPEND: _OF_DATA,
    TRUNCATE: (FSYNC, FDATASYNC, SYNC, NONE),
    RENAME: _OF_NAMES,
    LINK: _OF_NAMES,
    UNLINK: _OF_NAMES,
}
FIRST_FILES, LEAST_FILES = 10, 2
LARGEST_FILE, LARGEST_WRITE = 64 * 1024, 12 * 1024


@dataclass(frozen=True)
class Operation:
    """``other`` is the second name of a rename or link; TRUNCATE cuts or extends to ``offset``."""

    number: int
    kind: str
    path: str
    other: str = ""
    offset: int = 0
    length: int = 0
    sync: str = NONE
    seed: int = 0

    @property
    def content(self) -> bytes:
        return _content(self.seed, self.number, self.length)

    def acknowledgement(self) -> "dict[str, object]":
        return {
            "acknowledged": self.number,
            "operation": self.kind,
            "sync": self.sync,
            "path": self.path,
            "other": self.other,
            "offset": self.offset,
            "length": self.length,
            "sha256": hashlib.sha256(self.content).hexdigest(),
        }


# Each point asks for all of them again.
@cache
def _content(seed: int, number: int, length: int) -> bytes:
    return random.Random(f"{seed}:{number}").randbytes(length)  # noqa: S311


def every_pair() -> "list[str]":
    """Kinds in an order in which each follows each once (Hierholzer's circuit)."""
    left = {kind: list(KINDS) for kind in KINDS}
    path, circuit = [KINDS[0]], []
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            circuit.append(path.pop())
    return circuit[::-1]


def workload(seed: int, drawn: int, is_synced: bool = True) -> "list[Operation]":
    """The fixed list, and then ``drawn`` operations that the seed draws.

    ``is_synced``: without it no operation is followed by any sync.
    """
    made: list[Operation] = []
    files: dict[str, list[int]] = {}
    fixed = [CREATE] * FIRST_FILES + every_pair()
    draw = random.Random(0)  # noqa: S311 (the fixed list is the same everywhere)
    turns = dict.fromkeys(KINDS, 0)
    for place in range(len(fixed) + drawn):
        if place == len(fixed):
            draw = random.Random(seed)  # noqa: S311
        kind = fixed[place] if place < len(fixed) else draw.choice(KINDS)
        if kind in (RENAME, UNLINK) and len(files) <= LEAST_FILES:
            made.append(_drawn(CREATE, files, draw, len(made), turns, seed))
        made.append(_drawn(kind, files, draw, len(made), turns, seed))
    if not is_synced:
        made = [replace(one, sync=NONE) for one in made]
    return made


def _drawn(
    kind: str,
    files: "dict[str, list[int]]",
    draw: random.Random,
    number: int,
    turns: "dict[str, int]",
    seed: int,
) -> Operation:
    """One operation. ``files`` {name: [bytes]} is what there is; links share their list."""
    sync = SYNCS[kind][turns[kind] % len(SYNCS[kind])]
    turns[kind] += 1
    fresh = f"f{number}"
    if kind == CREATE:
        files[fresh] = [0]
        return Operation(number, kind, fresh, sync=sync, seed=seed)
    path = draw.choice(sorted(files))
    size = files[path]
    if kind == RENAME:
        # A rename of a file over a link to it does nothing (rename(2)).
        others = [name for name in sorted(files) if files[name] is not size]
        other = draw.choice(others) if others else fresh
        files[other] = files.pop(path)
        return Operation(number, kind, path, other, sync=sync, seed=seed)
    if kind == LINK:
        files[fresh] = size
        return Operation(number, kind, path, fresh, sync=sync, seed=seed)
    if kind == UNLINK:
        del files[path]
        return Operation(number, kind, path, sync=sync, seed=seed)
    length = draw.randrange(1, LARGEST_WRITE)
    if kind == TRUNCATE:
        size[0] = draw.randrange(size[0] + 4096)
        return Operation(number, kind, path, "", size[0], 0, sync, seed)
    if kind == OVERWRITE and size[0]:
        offset = draw.randrange(size[0])
        length = min(length, size[0] - offset)
    else:
        sync = FSYNC if sync == MSYNC else sync
        is_at_end = kind == APPEND and size[0] < LARGEST_FILE
        offset = size[0] if is_at_end else draw.randrange(min(size[0], LARGEST_FILE) + 4096)
    size[0] = max(size[0], offset + length)
    return Operation(number, kind, path, "", offset, length, sync, seed)


def without(ranges: "list[tuple[int, int]]", begin: int, end: int) -> "list[tuple[int, int]]":
    """What is left of ranges when one is taken away."""
    kept = []
    for low, high in ranges:
        kept += [(low, min(high, begin)), (max(low, end), high)]
    return [(low, high) for low, high in kept if low < high]


@dataclass
class File:
    """A file while the workload runs: what it is, and what of it is promised.

    ``promised`` are ranges of ``image`` that must be there; its size is ``least`` to ``most``.
    ``by`` is the number of the last operation that promised something.
    """

    now: bytearray = field(default_factory=bytearray)
    image: bytearray = field(default_factory=bytearray)
    promised: "list[tuple[int, int]]" = field(default_factory=list)
    least: int = 0
    most: int = 0
    by: int = -1

    def write(self, offset: int, content: bytes) -> None:
        end = offset + len(content)
        self._resize(max(len(self.now), end))
        self.now[offset:end] = content
        self.promised = without(self.promised, offset, end)

    def cut(self, size: int) -> None:
        self.promised = without(self.promised, size, 1 << 62)
        self._resize(size)

    def _resize(self, size: int) -> None:
        self.now = self.now[:size].ljust(size, b"\0")
        self.least, self.most = min(self.least, size), max(self.most, size)

    def promise(self, number: int, begin: int = 0, end: "int | None" = None) -> None:
        """All of it, or a range."""
        self.by = number
        if end is None:
            self.image = self.now[:]
            self.promised = [(0, len(self.now))]
            self.least = self.most = len(self.now)
            return
        self.image = self.image.ljust(end, b"\0")
        self.image[begin:end] = self.now[begin:end]
        self.promised = [*without(self.promised, begin, end), (begin, end)]
        self.least = max(self.least, end)

    def is_kept_by(self, found: bytes) -> bool:
        """Whether this content, read after a crash, breaks no promise."""
        return self.least <= len(found) <= self.most and all(
            found[low:high] == self.image[low:high] for low, high in self.promised
        )


class Expected:
    """What may be there after a crash in which ``acknowledged`` operations had returned.

    The one after them was in flight: it may have happened or not.
    """

    def __init__(self, operations: "Sequence[Operation]", acknowledged: int) -> None:
        self.names: dict[str, File | None] = {}
        # Of each name every file that it can be, since the folder was synced.
        self.possible: dict[str, list[File | None]] = {}
        self.named_by: dict[str, int] = {}
        for operation in operations[:acknowledged]:
            self._happen(operation)
            self._promise(operation)
        for operation in operations[acknowledged : acknowledged + 1]:
            self._happen(operation)

    def _name(self, path: str, file: "File | None") -> None:
        self.possible.setdefault(path, [self.names.get(path)]).append(file)
        self.names[path] = file

    def _happen(self, operation: Operation) -> None:
        file = self.names.get(operation.path)
        if operation.kind == CREATE:
            self._name(operation.path, File())
            return
        assert file is not None
        if operation.kind == RENAME:
            self._name(operation.other, file)
            self._name(operation.path, None)
        elif operation.kind == LINK:
            self._name(operation.other, file)
        elif operation.kind == UNLINK:
            self._name(operation.path, None)
        elif operation.kind == TRUNCATE:
            file.cut(operation.offset)
        else:
            file.write(operation.offset, operation.content)

    def _promise(self, operation: Operation) -> None:
        number, file = operation.number, self.names.get(operation.path)
        if operation.sync in (FOLDER, SYNC):
            for path, now in self.names.items():
                if len(self.possible[path]) > 1:
                    self.named_by[path] = number
                self.possible[path] = [now]
        if operation.sync == SYNC:
            for one in self.names.values():
                if one is not None:
                    one.promise(number)
        if file is None:
            return
        if operation.sync in (FSYNC, FDATASYNC):
            file.promise(number)
        elif operation.sync in (DSYNC, MSYNC):
            file.promise(number, operation.offset, operation.offset + operation.length)

    def lost(self, found: "Mapping[str, bytes]") -> "Iterator[tuple[str, int]]":
        """(name, number of the operation that promised it) of all that is absent or different."""
        for path, files in self.possible.items():
            content = found.get(path)
            if content is None:
                if None not in files:
                    yield path, self.named_by.get(path, -1)
            elif not any(file is not None and file.is_kept_by(content) for file in files):
                numbers = [file.by for file in files if file is not None]
                yield path, max([self.named_by.get(path, -1), *numbers])


def carry_out(operation: Operation, folder: str) -> None:
    """Do it, and return when its sync has returned."""
    path, other = f"{folder}/{operation.path}", f"{folder}/{operation.other}"
    if operation.kind == RENAME:
        os.rename(path, other)  # noqa: PTH104
    elif operation.kind == LINK:
        os.link(path, other)
    elif operation.kind == UNLINK:
        os.unlink(path)  # noqa: PTH108
    else:
        flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if operation.kind == CREATE else 0)
        descriptor = os.open(path, flags | (os.O_DSYNC if operation.sync == DSYNC else 0), 0o600)
        try:
            if operation.kind == TRUNCATE:
                os.ftruncate(descriptor, operation.offset)
            elif operation.sync == MSYNC:
                size = os.fstat(descriptor).st_size
                with mmap.mmap(descriptor, size) as memory:
                    end = operation.offset + operation.length
                    memory[operation.offset : end] = operation.content
                    memory.flush()
            elif operation.length:
                _write(descriptor, operation)
            if operation.sync == FSYNC:
                os.fsync(descriptor)
            elif operation.sync == FDATASYNC:
                os.fdatasync(descriptor)
            elif operation.sync == RANGE:
                _sync_range(descriptor, operation.offset, operation.length)
        finally:
            os.close(descriptor)
    if operation.sync == FOLDER:
        sync_folder(folder)
    elif operation.sync == SYNC:
        os.sync()


def _write(descriptor: int, operation: Operation) -> None:
    rest, place = memoryview(operation.content), operation.offset
    while rest:
        written = os.pwrite(descriptor, rest, place)
        rest, place = rest[written:], place + written


def _sync_range(descriptor: int, offset: int, length: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    # SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER; it promises nothing (sync_file_range(2)).
    if libc.sync_file_range(descriptor, offset, length, 7):
        raise OSError(ctypes.get_errno(), "sync_file_range failed")


def sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
