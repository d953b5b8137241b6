"""Paths, patterns and archives -> the files to read, each with the entry that it belongs to."""

import glob
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fsbench.local.problems import FileProblem, problem
from fsbench_web.core.comparison.imported import as_label, natural_order, stem_of
from fsbench_web.core.formats import archive
from fsbench_web.core.formats.result import UnreadableFile

MOST_FILES = 2000
MOST_BYTES = 512 * 1024 * 1024
_HEAD_BYTES = 4096
_ARCHIVE = re.compile(r"(?i)\.(zip|tar|tgz|tar\.gz)$")


@dataclass(frozen=True)
class FoundFile:
    """A file: ``path`` as people see it, ``entry`` what it is compared as.

    ``is_of_folder``: a folder, a pattern or an archive brought it, so nobody named it.
    """

    path: str
    read: Callable[[], bytes]
    entry: str = ""
    is_of_folder: bool = False

    @property
    def name(self) -> str:
        """The path without its folders."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder that it is in, without those above; "" for none."""
        return self.path.split("/")[-2] if "/" in self.path else ""


@dataclass
class FoundFiles:
    """All files of a comparison. ``are_named``: only the files' own names tell entries apart."""

    files: list[FoundFile] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)
    are_named: bool = False


def find(paths: Sequence[str | os.PathLike[str]]) -> FoundFiles:
    """The files of ``paths``: of several folders each is an entry, of one each folder in it.

    Of files alone their folders are entries, or in one folder their names without a number.
    """
    found = FoundFiles()
    groups = [(path, list(_files_of(path, found.problems))) for path in _expanded(paths, found)]
    groups = [(path, files) for path, files in groups if files]
    count = sum(len(files) for _, files in groups)
    if count > MOST_FILES:
        found.problems.append(problem("too_many_files", most=MOST_FILES))
        return found
    if len(groups) > 1 and any(files[0].is_of_folder for _, files in groups):
        names = _short_names([path for path, _ in groups])
    else:
        all_files = [file for _, files in groups for file in files]
        names = _folder_names([file.path for file in all_files])
        found.are_named = not any(names)
        names = [name or _name_of(file) for name, file in zip(names, all_files, strict=True)]
        groups = [("", [file]) for file in all_files]
    for name, (_, files) in zip(names, groups, strict=True):
        for file in files:
            found.files.append(FoundFile(file.path, file.read, name, file.is_of_folder))
    return found


def _expanded(paths: Sequence[str | os.PathLike[str]], found: FoundFiles) -> Iterator[str]:
    """The paths once each; a pattern gives what it matches, in order of the numbers in names."""
    seen = set()
    for path in [os.fspath(one) for one in paths]:
        is_pattern = bool(set("*?[") & set(path)) and not os.path.lexists(path)
        matches = sorted(_matches(path), key=natural_order) if is_pattern else []
        if is_pattern and not matches:
            found.problems.append(problem("no_match", path, found=path))
        for one in matches if is_pattern else [path]:
            if (key := os.path.realpath(one)) not in seen:
                seen.add(key)
                yield one


def _matches(pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 (Path has none for absolute patterns)


def _files_of(path: str, problems: list[FileProblem]) -> Iterator[FoundFile]:
    """The files of a path; of a folder those in all folders below it."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (a str with a surrogate is a path, too)
        if stat.S_ISDIR(mode):
            yield from _files_below(path, problems)
        elif stat.S_ISREG(mode):
            yield from _members_or_file(path, problems)
        else:
            problems.append(problem("no_file", path, found=path))
    except (FileNotFoundError, NotADirectoryError):
        problems.append(problem("no_path", path, found=path))
    except OSError as error:
        problems.append(problem("denied", path, found=path, reason=error.strerror))


def _files_below(folder: str, problems: list[FileProblem]) -> Iterator[FoundFile]:
    below: list[str] = []

    def failed(error: OSError) -> None:
        problems.append(problem("denied", error.filename, found=folder, reason=error.strerror))

    for place, folders, names in os.walk(folder, onerror=failed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(place, name)  # noqa: PTH118
            if not name.startswith(".") and os.path.isfile(path):  # noqa: PTH113
                below.append(path)
        if len(below) > MOST_FILES:
            problems.append(problem("too_many_files", folder, most=MOST_FILES))
            return
    if not below:
        problems.append(problem("folder_empty", folder, found=folder))
    for path in sorted(below, key=natural_order):
        yield FoundFile(path.replace(os.sep, "/"), partial(_content, path), is_of_folder=True)


def _content(path: str) -> bytes:
    """All of a file, or a byte more than is taken: no file fills the memory."""
    with Path(path).open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _members_or_file(path: str, problems: list[FileProblem]) -> Iterator[FoundFile]:
    label = path.replace(os.sep, "/")
    with Path(path).open("rb") as file:
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        if not archive.is_archive(head) or archive.is_spreadsheet(head):
            yield FoundFile(label, partial(_content, path))
            return
        folder = _ARCHIVE.sub("", label)
        try:
            members = list(archive.members(Path(path).name, file, MOST_BYTES))
        except UnreadableFile as error:
            problems.append(problem("unreadable", label, reason=error))
            return
    for member in sorted(members, key=lambda member: natural_order(member.path)):
        member_path = f"{folder}/{member.path}"
        if member.problem:
            problems.append(problem("unreadable", member_path, reason=member.problem))
        else:
            yield FoundFile(member_path, partial(bytes, member.data), is_of_folder=True)


def _short_names(paths: Sequence[str]) -> list[str]:
    """The last part of each path, with those before it where two would be called alike."""
    parts = [Path(_ARCHIVE.sub("", path)).resolve().parts for path in paths]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(own[-count:]) for own in parts]
        if len({as_label(name) or name for name in names}) == len(names):
            return names
    return list(paths)


def _name_of(file: FoundFile) -> str:
    """Its name without the number of a repeat; of run-1.txt, whatever it is in."""
    return stem_of(file.path) or (file.is_of_folder and file.folder) or file.name


def _folder_names(paths: Sequence[str]) -> list[str]:
    """The first folder of each path that not all have in common; "" for none."""
    folders = [path.split("/")[:-1] for path in paths]
    common = len(common_parts(folders))
    return [(own[common] if len(own) > common else "") for own in folders]


def common_parts(folders: Sequence[list[str]]) -> list[str]:
    """The folders that all paths have in common, outermost first."""
    return list(os.path.commonprefix(list(folders)))  # noqa: RUF071 (of lists: by part)
