"""Why an import is refused: every reason at once, each with its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict


class ErrorRow(TypedDict):
    """One error as the API answers it."""

    file: str | None
    line: int | None
    column: int | None
    message: str


@dataclass(frozen=True)
class ImportProblem:
    """What is wrong. ``file`` is None for what was given beside the files; ``run_id`` names the
    run that already holds the numbers.
    """

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    run_id: int | None = None

    def as_row(self) -> ErrorRow:
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }


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
