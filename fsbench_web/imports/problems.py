"""Why an import is refused, and what it leaves out: all of it at once, each with its place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from fsbench_web.core.formats.result import Parameters, Problem
from fsbench_web.core.formats.tables import problems

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
    "date": "Date",
    "block": "Block",
    "threads": "Threads",
    "iodepth": "I/O depth",
    "jobs": "Jobs",
    "tasks": "Tasks",
    "clients": "Clients",
}
FIELD_LABELS = COLUMN_LABELS | {"study": "Study", "source": "Source", "licence": "Licence"}


SENTENCES = {
    **problems.SENTENCES,
    "study_missing": "{field} is missing: name the study the results belong to.",
    "no_address": '{field} "{found}" needs a Latin letter or a digit, for its address.',
    "unshowable": "{field} holds a character that cannot be shown. {reason}",
    "too_long": "{field} has more than {most} characters.",
    "kilobyte_open": '{field} is "{found}"; it can be 1000 or 1024, or left out.',
    "not_a_choice": '{field} is "{found}"; it can be {expected}, or left out.',
    "filesystem_missing": ("{field} is missing: say which file system was measured, such as ext4."),
    "no_filesystem": (
        '{field} "{found}" is not a name such as ext4 or xfs. '
        "It may have letters, digits, - and _, 40 at most."
    ),
    "configuration_missing": (
        "{field} is missing: give it a short label, such as ext4_noatime, or ext4 for all defaults."
    ),
    "no_configuration": (
        '{field} "{found}" is not a label such as ext4_noatime. '
        "It may have lower-case letters, digits, - and _, 120 at most."
    ),
    "other_filesystem": (
        "{field} {found} is one of {own}, and the file system is said to be {said}."
    ),
    "column_unread": "Column {found} is not one that fsbench keeps.",
    "column_unsaid": (
        "Column {found} is not one that fsbench keeps. Say which column it is, or leave it out: "
        "tick it in the preview, or name it in ignore_columns of a call."
    ),
    "unit_unknown": "{reason}",
    "columns_unreadable": "{field} is not a mapping as JSON: {place}: {reason}.",
    "no_file": "No file was given.",
    "all_left_out": "Every file is left out: choose one to import.",
    "left_out": "Not read: it is left out.",
    "job_file": "A fio job file has no numbers: it describes the outputs in the same upload.",
    "same_numbers": "its numbers are those of {other}.",
    "import_too_large": "The import has more than {most} values before this file: split it.",
    "several_repeats": "The file holds {found} repeats: leave its repeat empty.",
    "no_repeat_of_file": 'Repeat "{found}" is not a whole number from 1.',
    "numbers_known": (
        "These numbers are already there, as run {run} (repeat {repeat} of {label} in {study}). "
        "A repeat hardly ever gives the very same numbers: {once}"
    ),
    "numbers_twice": "{other} holds the very same numbers: {once}",
    "run_twice": (
        "The run that begins here holds the very same numbers as the one that begins in line "
        "{first}: {once}"
    ),
    "repeat_taken": (
        "Repeat {repeat} of {label} is already there. Leave the repeat empty, and the runs are "
        "numbered on."
    ),
    "cell_twice_in_run": (
        "The same cell was already given in line {first}. Repeats of a cell need a column repeat "
        "or block, or a file each."
    ),
    "other_columns": (
        "Its columns changed since this preview was shown, in another window. "
        "Nothing was stored. Look at what would be stored now, and import that."
    ),
}
"""The sentence of each code. ``field`` is what calls and tables name so; pages say its label."""


class ErrorRow(TypedDict):
    """One error as the API answers it; ``code`` is there where its kind has one."""

    file: str | None
    line: int | None
    column: int | None
    message: str
    code: str
    parameters: dict[str, str]


class WarningRow(ErrorRow):
    """One warning as the API answers it: ``count`` places have it, the row names the first.

    ``lost``: something of the file was not read, or its tool says that it failed.
    """

    count: int
    lost: bool


@dataclass(frozen=True)
class ImportProblem:
    """What is wrong; ``file`` None: with what was given with the files.

    ``run_id``: the run that has the numbers. Of warnings: ``count`` places, the first is named.
    """

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    run_id: int | None = None
    count: int = 1
    is_note: bool = False
    code: str = ""
    parameters: Parameters = ()

    @classmethod
    def of(cls, found: Problem, file: str) -> "ImportProblem":
        return cls(file=file, **vars(found))

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "ImportProblem":
        """As the report of an import keeps its ``vars``."""
        pairs = tuple((name, text) for name, text in kept.get("parameters", ()))
        return cls(**{**kept, "parameters": pairs})

    @property
    def shown(self) -> str:
        """The message for pages: fields have their labels."""
        values = dict(self.parameters)
        if "field" not in values or self.code not in SENTENCES:
            return self.message
        label = FIELD_LABELS.get(values["field"], values["field"])
        return SENTENCES[self.code].format(**{**values, "field": label})

    @property
    def summary(self) -> str:
        first, stop, _ = self.shown.partition(". ")
        return f"{first}{stop.strip()}"

    @property
    def advice(self) -> str:
        """What ``shown`` says behind its first sentence."""
        return self.shown.partition(". ")[2]

    def as_row(self) -> ErrorRow:
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "code": self.code,
            "parameters": dict(self.parameters),
        }

    def as_warning(self) -> WarningRow:
        return {**self.as_row(), "count": self.count, "lost": not self.is_note}


def refusal(
    code: str,
    file: str | None = None,
    line: int | None = None,
    *,
    is_note: bool = False,
    run_id: int | None = None,
    **parameters: object,
) -> ImportProblem:
    """A problem of an import with the sentence of its code."""
    words = {name: str(value) for name, value in parameters.items()}
    return ImportProblem(
        SENTENCES[code].format(**words),
        file,
        line,
        run_id=run_id,
        is_note=is_note,
        code=code,
        parameters=tuple(sorted(words.items())),
    )


@dataclass(frozen=True)
class ProblemGroup:
    """Problems of one kind in one file: the first of them, and the lines of all."""

    first: ImportProblem
    lines: tuple[int, ...]

    @property
    def count(self) -> int:
        return max(len(self.lines), 1)


def grouped(found: Iterable[ImportProblem]) -> list[ProblemGroup]:
    """Problems in their order, those of one kind in many lines of a file as one."""
    by_kind: dict[tuple[object, ...], list[ImportProblem]] = {}
    for place, entry in enumerate(found):
        is_of_line = bool(entry.code) and entry.line is not None and entry.run_id is None
        field = dict(entry.parameters).get("field")
        kind = (entry.file, entry.code, entry.column, field) if is_of_line else (place,)
        by_kind.setdefault(kind, []).append(entry)
    return [
        ProblemGroup(entries[0], tuple(entry.line for entry in entries if entry.line is not None))
        for entries in by_kind.values()
    ]


def merged_warnings(warnings: Iterable[ImportProblem]) -> list[ImportProblem]:
    """Warnings in order, equal ones once; of very many, losses before notes and a count."""
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
    """Nothing of the import was stored. ``is_forbidden``: the user has no right to it."""

    def __init__(self, problems: Sequence[ImportProblem], is_forbidden: bool = False) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = list(problems)
        self.is_forbidden = is_forbidden

    @property
    def errors(self) -> list[ErrorRow]:
        return [problem.as_row() for problem in self.problems]
