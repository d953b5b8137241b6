"""Why an import is refused, and what it leaves out: all of it at once, each with its place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

MOST_WARNINGS = 100
# How pages call what calls and tables name so.
COLUMN_LABELS = {
    "test": "Test",
    "record_size_kb": "Block size",
    "file_size_kb": "File size",
    "value": "Value",
    "unit": "Unit",
    "filesystem": "File system",
    "configuration": "Configuration",
    "hardware": "Hardware",
    "kernel": "Kernel",
    "repeat": "Repeat",
    "block": "Block",
    "threads": "Threads",
    "iodepth": "I/O depth",
    "jobs": "Jobs",
    "tasks": "Tasks",
    "clients": "Clients",
}
FIELD_LABELS = COLUMN_LABELS | {"study": "Study", "source": "Source", "licence": "Licence"}


class ErrorRow(TypedDict):
    """One error as the API answers it."""

    file: str | None
    line: int | None
    column: int | None
    message: str


class WarningRow(ErrorRow):
    """One warning as the API answers it: ``count`` places are told by the first of them.

    ``lost``: something of the file was not read, or its tool says that it failed.
    """

    count: int
    lost: bool


@dataclass(frozen=True)
class ImportProblem:
    """What is wrong. ``file`` is None for what was given beside the files; ``run_id`` names the
    run that already holds the numbers.

    Of a warning: ``count`` places are told by the first of them; ``is_note``: nothing is lost.
    """

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    run_id: int | None = None
    count: int = 1
    is_note: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of ``message``, with the label of the field that it begins with in
        the place of its name.
        """
        first, stop, _ = self.message.partition(". ")
        name, space, rest = first.partition(" ")
        return f"{FIELD_LABELS.get(name, name)}{space}{rest}{stop.strip()}"

    @property
    def advice(self) -> str:
        """What ``message`` says behind its first sentence."""
        return self.message.partition(". ")[2]

    def as_row(self) -> ErrorRow:
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }

    def as_warning(self) -> WarningRow:
        return {**self.as_row(), "count": self.count, "lost": not self.is_note}


def merged_warnings(warnings: Iterable[ImportProblem]) -> list[ImportProblem]:
    """Warnings in their order, what a file has several times once; of very many, those of what was
    lost before the notes, and how many there are.
    """
    by_key: dict[tuple[str | None, str, bool], ImportProblem] = {}
    for warning in warnings:
        key = (warning.file, warning.message, warning.is_note)
        earlier = by_key.get(key)
        by_key[key] = replace(earlier, count=earlier.count + warning.count) if earlier else warning
    rows = list(by_key.values())
    if len(rows) <= MOST_WARNINGS:
        return rows
    rows.sort(key=lambda row: row.is_note)
    rest = rows[MOST_WARNINGS:]
    count = sum(row.count for row in rest)
    last = ImportProblem(f"And {count:,} more.", count=count, is_note=rest[0].is_note)
    return [*rows[:MOST_WARNINGS], last]


def losses(warnings: Iterable[ImportProblem]) -> list[ImportProblem]:
    """Those that refuse an import that is strict, as problems."""
    return [
        replace(warning, message=f"Left out, and the import is strict: {warning.message}", count=1)
        for warning in warnings
        if not warning.is_note
    ]


class KnownRun(TypedDict):
    """A run that was passed over: the ``file`` that holds it, the ``run`` with the same numbers."""

    file: str
    run: int


class ImportRefused(ValueError):
    """Nothing of the import was stored. ``errors`` is the API's form of ``problems``.
    ``is_forbidden``: whoever asks may not, whatever the files are.
    """

    def __init__(self, problems: Sequence[ImportProblem], is_forbidden: bool = False) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = list(problems)
        self.is_forbidden = is_forbidden

    @property
    def errors(self) -> list[ErrorRow]:
        return [problem.as_row() for problem in self.problems]
