"""Write a kernel's first root as a cpio archive ("newc", buffer-format.rst). Stdlib only."""

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """A file, or a folder where ``content`` is None. ``name`` is relative, without a leading /."""

    name: str
    content: bytes | None = None
    mode: int = 0o755


def own_programs(root: Path) -> "list[Entry]":
    """``runner.agent`` in ``root``, with what Python has made of its modules where that is there
    (runner/image).
    """
    runner, agent = root / "runner", root / "runner/agent"
    files = [*runner.glob("__init__.py"), *runner.glob("__pycache__/__init__.*.pyc")]
    files += [*agent.rglob("*.py"), *agent.rglob("*.pyc")]
    contents = {Path("fsbench") / file.relative_to(root): file.read_bytes() for file in files}
    folders = {folder for path in contents for folder in path.parents} - {Path()}
    return [
        *(Entry(str(folder)) for folder in sorted(folders)),
        *(Entry(str(path), contents[path], 0o644) for path in sorted(contents)),
    ]


def archive(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The archive, piece by piece. Folders must come before what is in them."""
    number = 0
    for number, entry in enumerate(entries, start=1):
        yield from _member(number, entry)
    yield from _member(number + 1, Entry("TRAILER!!!", b"", 0))


def _member(number: int, entry: Entry) -> Iterator[bytes]:
    content = entry.content if entry.content is not None else b""
    kind = stat.S_IFDIR if entry.content is None else stat.S_IFREG
    name = entry.name.encode() + b"\0"
    fields = (number, kind | entry.mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    yield head + _padding(len(head))
    yield content + _padding(len(content))


def _padding(length: int) -> bytes:
    return b"\0" * (-length % 4)
