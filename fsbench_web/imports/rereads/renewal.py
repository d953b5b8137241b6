"""The warnings of an import, as reading one of its files again gives them. No database."""

from collections.abc import Mapping, Sequence
from typing import Any

from fsbench_web.core.formats import ParsedResult
from fsbench_web.imports.checks import unread_columns
from fsbench_web.imports.problems import ImportProblem, WarningRow, merged_warnings
from fsbench_web.imports.sources import FileDescription, SourceFile


def renewed_warnings(
    report: Mapping[str, Any], path: str, parsed: ParsedResult
) -> list[WarningRow] | None:
    """All warnings of the import whose ``report`` it is, those of the file at ``path`` anew; None
    where they stay as they are.

    What was said of its runs when they were stored (``remarks``) stays. Where the import is of
    before these were kept apart, nothing is taken away; where there were too many warnings to be
    kept, they stay.
    """
    stored: list[WarningRow] = report.get("warnings", [])
    if any(row["file"] is None for row in stored):
        return None
    file_rows = [row for row in stored if row["file"] == path]
    current_rows = [
        warning.as_warning() for warning in merged_warnings(_file_problems(file_rows, path, parsed))
    ]
    names = {row["message"] for row in current_rows}
    remarks = report.get("remarks")
    remaining = [
        row
        for row in file_rows
        if row["message"] not in names and (remarks is None or row in remarks)
    ]
    if _sorted([*current_rows, *remaining]) == _sorted(file_rows):
        return None
    place = next((number for number, row in enumerate(stored) if row["file"] == path), len(stored))
    others = [row for row in stored[place:] if row["file"] != path]
    return [*stored[:place], *current_rows, *remaining, *others]


def _file_problems(
    rows: Sequence[WarningRow], path: str, parsed: ParsedResult
) -> list[ImportProblem]:
    """What reading a file says today; columns that somebody left out are still left out."""
    messages = {row["message"] for row in rows}
    problems = []
    for column in parsed.unread_columns:
        for ignored in ((column[1],), None):
            source = SourceFile(path, b"", 0, description=FileDescription(ignored=ignored))
            (problem,), _ = unread_columns([column], source)
            if ignored is None or problem.message in messages:
                problems.append(problem)
                break
    return problems + [ImportProblem.of(warning, path) for warning in parsed.warnings]


def _sorted(rows: Sequence[WarningRow]) -> list[str]:
    # Imports of before there were codes have none.
    return sorted(
        repr([row["file"], row["line"], row["column"], row["message"], row["count"], row["lost"]])
        for row in rows
    )
