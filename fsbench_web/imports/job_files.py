"""What job files and scripts among the files of an import say of fio's jobs. No database."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fsbench_web.core.comparison.imported import stem_of
from fsbench_web.core.formats import UnreadableFile
from fsbench_web.core.formats.fio import logs
from fsbench_web.core.formats.fio.naming import Beside, Jobs, jobs_in
from fsbench_web.core.formats.text import lines_of
from fsbench_web.imports.sources import SourceFile

_LARGEST = 64 * 1024
_MARK = re.compile(rb"(?:rw|readwrite)\s{0,8}[= ]")


def described_in(source: SourceFile) -> Jobs:
    """The jobs of a job file, or of the commands in a script or above an output; {} of others."""
    if source.problem or source.mapping is not None or source.size_bytes > _LARGEST:
        return {}
    data = source.read()
    if not _MARK.search(data):
        return {}
    try:
        return jobs_in(lines_of(data))
    except UnreadableFile:
        return {}


@dataclass
class Descriptions:
    """What the files of an import say of jobs, by path; ``results`` are those that hold numbers."""

    jobs: Mapping[str, Jobs]
    results: set[str] = field(default_factory=set)

    def beside(self, source: SourceFile) -> Beside:
        """What holds for a file, by the names of files in its folder or one above.

        A file of its own name goes first. What stands above one result is said of a log alone.
        """
        if source.beside is not None:
            return source.beside
        is_log = logs.is_named(source.name)
        paths = [
            path
            for path in self.jobs
            if source.path.startswith(_folder(path)) and (is_log or path not in self.results)
        ]
        named_alike = [path for path in paths if stem_of(path) == stem_of(source.path)]
        # Of two files of one name the one in the nearest folder counts.
        return {_name(path): self.jobs[path] for path in _by_depth(named_alike or paths)}


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _by_depth(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: path.count("/"))
