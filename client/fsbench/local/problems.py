"""What was wrong with files, by code, and what to do."""

from dataclasses import dataclass
from typing import Any

SENTENCES = {
    "no_path": "There is no file or folder {found}. Check the path.",
    "no_match": "No file matches {found}. Check the pattern.",
    "no_file": "{found} is not a regular file. Give files, folders or archives.",
    "denied": "fsbench may not read {found}: {reason}.",
    "folder_empty": "{found} holds no files. Put the results of the tool into it.",
    "too_many_files": "There are more than {most:,} files. Compare fewer folders at once.",
    "too_large": "The files hold more than {most:,} MB. Compare fewer folders at once.",
    "too_many_numbers": "The files hold more than {most:,} numbers. Compare fewer at once.",
    "unreadable": "{reason}",
    "unit_unknown": "{reason}",
    "other_file": "Not read: it is neither a tool's output that fsbench reads nor a table.",
    "same_numbers": "Not read: {found} holds the same numbers.",
    "given_twice": "Not counted: {found} is the very same measurement.",
    "cell_twice": "Not read: a value is given twice for one repeat (lines {first} and {second}).",
    "repeat_taken": "Not counted: repeat {found} of this entry measured the same already.",
    "mixed_units": "{found} cannot be scored: {reason} Compare these files apart.",
    "repeats_differ": "{reason} If these are no repeats, keep them in folders of their own.",
    "several_configurations": (
        "{found} has {count} folders of different names. The best stands for it in each test; "
        "--by configuration compares all."
    ),
    "failed": "fsbench cannot read this file ({reason}). Please report it with the file.",
    "warning": "{reason}",
}
LOSSES = (
    frozenset(SENTENCES)
    - {"other_file", "same_numbers", "warning", "repeats_differ"}
    - {"several_configurations"}
)
"""Codes of what is missing from the comparison; the others are notes."""


@dataclass(frozen=True)
class FileProblem:
    """What is wrong with ``file`` ("" for all of them), at ``line`` where one is known."""

    code: str
    file: str
    text: str
    line: int | None = None

    @property
    def is_loss(self) -> bool:
        """Whether numbers are missing from the comparison because of it."""
        return self.code in LOSSES

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.file and self.line else self.file
        return f"{place}: {self.text}" if place else self.text

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"code": self.code, "file": self.file, "line": self.line, "text": self.text}


def problem(
    code: str, file: object = "", line: int | None = None, **parameters: object
) -> FileProblem:
    """The problem of a code, with its sentence."""
    return FileProblem(code, str(file), SENTENCES[code].format(**parameters), line)


class NothingToRead(ValueError):
    """No file gave a number; the text says why, and ``problems`` all of it."""

    def __init__(self, problems: list[FileProblem]) -> None:
        self.problems = problems
        losses = [entry for entry in problems if entry.is_loss] or problems
        lines = [str(entry) for entry in losses[:20]]
        if len(losses) > len(lines):
            lines.append(f"And {len(losses) - len(lines):,} more.")
        super().__init__("\n".join(["No results were found.", *lines]))
