"""What was uploaded -> the files in it: archives unpacked, everything packed again for keeping.

A path is a label that tells folders apart; nothing is ever written under it.
"""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, BinaryIO

from django.conf import settings
from isal import igzip

from fsbench_web.core.comparison.imported import natural_order
from fsbench_web.core.formats import archive
from fsbench_web.core.formats.fio.naming import Beside
from fsbench_web.core.formats.result import Problem, UnreadableFile
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.platform import plain_text
from fsbench_web.platform.names import slug_of
from fsbench_web.studies.scores import ingest

_CHUNK = 256 * 1024
_MAX_PATH = 500


FOLDERS = "folders"
YES = "yes"


@dataclass(frozen=True)
class Target:
    """What the user says of all files. A table's own columns go before it.

    ``blocks``: FOLDERS where folders of one name, such as ``repeat-1``, are a round. ``kilobyte``:
    "1000" or "1024" bytes. ``repeats_differ``: YES for repeats that are far apart. ``strict``:
    nothing is left out.
    """

    study: str
    filesystem: str = ""
    configuration: str = ""
    hardware: str = ""
    kernel: str = ""
    source: str = ""
    licence: str = ""
    blocks: str = ""
    kilobyte: str = ""
    repeats_differ: str = ""
    strict: bool = False

    @property
    def texts(self) -> dict[str, str]:
        """All of it but ``strict``, by name."""
        return {name: text for name, text in vars(self).items() if name != "strict"}

    def stripped(self) -> "Target":
        """The same without blanks around what was typed."""
        texts = {name: text.strip() for name, text in self.texts.items()}
        return Target(**texts, strict=self.strict)

    def study_slug(self) -> str:
        return slug_of(self.study)


@dataclass(frozen=True)
class FileDescription:
    """What somebody said of one file; empty where nothing was said.

    ``ignored``: columns that are not read. Other unread columns refuse the file, or warn if it is
    None.
    """

    filesystem: str = ""
    configuration: str = ""
    hardware: str = ""
    kernel: str = ""
    repeat: int | None = None
    ignored: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "FileDescription":
        ignored = data.get("ignored")
        return cls(**{**data, "ignored": None if ignored is None else tuple(ignored)})


NOTHING_SAID = FileDescription()
MOST_REPEATS = 10**6


def read_repeat(text: str) -> int | None:
    """The repeat that somebody says of a file; None for none. Raises ValueError with a sentence."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text[:8]) < MOST_REPEATS):
        raise ValueError(f'Repeat "{text[:20]}" is not a whole number from 1.')
    return int(text)


@dataclass(frozen=True)
class SourceFile:
    """One file of an import, compressed. ``problem``: why its archive did not give its content."""

    path: str
    content_gzip: bytes = b""
    size_bytes: int = 0
    sha256: str = ""
    problem: str = ""
    description: FileDescription = NOTHING_SAID
    mapping: dict[str, Any] | None = None
    beside: Beside | None = None
    """What other files said of fio's jobs when it was stored; None: ask the files."""
    is_left_out: bool = False
    is_of_folder: bool = False
    """Whether an archive or a folder brought it, so that nobody chose this one file."""
    pk: int | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    def read(self) -> bytes:
        return igzip.decompress(self.content_gzip)

    def open(self) -> BinaryIO:
        """The content as a stream, unpacked on the way."""
        return igzip.GzipFile(fileobj=io.BytesIO(self.content_gzip))  # type: ignore[return-value]


def unpack(uploads: Iterable[tuple[str, BinaryIO]]) -> list[SourceFile]:
    """All files of an upload, (path, content): in the order given, those of folders by number.

    Raises ImportRefused for archives that cannot be read, with the problems of all of them.
    """
    named_files = [(safe_path(path), file) for path, file in uploads]
    problems: list[ImportProblem] = []
    sources: list[SourceFile] = []
    left = settings.MAX_UPLOAD_BYTES
    for path, file in named_files:
        head = file.read(4096)
        file.seek(0)
        if not archive.is_archive(head) or archive.is_spreadsheet(head):
            sources.append(replace(pack(path, file), is_of_folder="/" in path))
            continue
        folder = (
            "" if len(named_files) == 1 else re.sub(r"(?i)\.(zip|tar|tgz|tar\.gz)$", "", path) + "/"
        )
        try:
            files, unpacked = _members(path, file, folder, left)
        except UnreadableFile as error:
            problems += [
                ImportProblem(plain_text.visible(problem.message), path)
                for problem in error.problems
            ]
        else:
            sources += files
            left = max(left - unpacked, 1)
    if problems:
        raise ImportRefused(problems)
    if any("/" in source.path for source in sources):
        sources.sort(key=lambda source: natural_order(source.path))
    return sources


def leave_out(sources: Sequence[SourceFile], patterns: Sequence[str]) -> list[SourceFile]:
    """All files; those that ``patterns`` name are marked as left out.

    A pattern is a path, a name, or either with * and ?. Raises ImportRefused for a name of none.
    """
    named: dict[str, set[str]] = {
        pattern: {source.path for source in sources if _is_named(source.path, pattern)}
        for pattern in filter(None, patterns)
    }
    problems = [
        ImportProblem(f'leave_out names "{pattern[:60]}", and no file is called so.')
        for pattern, paths in named.items()
        if not paths and not set("*?[") & {*pattern}
    ]
    if problems:
        raise ImportRefused(problems)
    paths = set[str]().union(*named.values())
    return [replace(source, is_left_out=source.path in paths) for source in sources]


def _is_named(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def _members(path: str, file: BinaryIO, folder: str, limit: int) -> tuple[list[SourceFile], int]:
    files, seen, unpacked = [], set(), 0
    for member in archive.members(path.rsplit("/", 1)[-1], file, limit):
        label = (folder + (plain_text.visible(member.path) or "unnamed"))[:_MAX_PATH]
        problem = plain_text.visible(member.problem)
        if label in seen:
            problem = problem or "The archive holds two files of this name."
        seen.add(label)
        unpacked += len(member.data)
        files.append(
            SourceFile(label, problem=problem)
            if problem
            else replace(pack(label, io.BytesIO(member.data)), is_of_folder=True)
        )
    if not files:
        raise UnreadableFile([Problem(None, None, "The archive is empty.")])
    return sorted(files, key=lambda source: natural_order(source.path)), unpacked


def pack(path: str, file: BinaryIO) -> SourceFile:
    """A file as it is kept; the same content is the same bytes."""
    return SourceFile(path, **asdict(ingest.packed(iter(lambda: file.read(_CHUNK), b""))))


def safe_path(path: str) -> str:
    """Folders and name of an upload as a label, without signs that nobody sees.

    What comes before a step out of the folder, or out of the root, is dropped.
    """
    text = plain_text.visible(path).replace("\\", "/")
    text = re.sub(r"^[A-Za-z]:", "", text)
    parts: list[str] = []
    for part in (part.strip() for part in text.split("/")):
        if part == "..":
            parts = []
        elif part not in ("", "."):
            parts.append(part[:200])
    return "/".join(parts)[-_MAX_PATH:].lstrip("/") or "unnamed"
