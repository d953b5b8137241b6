"""The warnings of an import, as reading one of its files again gives them. No database."""

from collections.abc import Mapping, Sequence
from typing import Any

from fsbench_web.core.formats import ParsedResult
from fsbench_web.imports import dates
from fsbench_web.imports.checks import unread_columns
from fsbench_web.imports.problems import ImportProblem, WarningRow, together
from fsbench_web.imports.sources import FileDescription, SourceFile


def renewed(report: Mapping[str, Any], path: str, parsed: ParsedResult) -> list[WarningRow] | None:
    """All warnings of the import whose ``report`` it is, those of the file at ``path`` anew; None
    where they stay as they are.

    What was said of its runs when they were stored (``remarks``) stays. Where the import is of
    before these were kept apart, nothing is taken away; where there were too many warnings to be
    kept, they stay.
    """
    stored: list[WarningRow] = report.get("warnings", [])
    if any(row["file"] is None for row in stored):
        return None
    own = [row for row in stored if row["file"] == path]
    now = [one.as_warning() for one in together(_of_file(own, path, parsed))]
    names = {row["message"] for row in now}
    remarks = report.get("remarks")
    kept = [
        row for row in own if row["message"] not in names and (remarks is None or row in remarks)
    ]
    if _sorted([*now, *kept]) == _sorted(own):
        return None
    place = next((n for n, row in enumerate(stored) if row["file"] == path), len(stored))
    others = [row for row in stored[place:] if row["file"] != path]
    return [*stored[:place], *now, *kept, *others]


def _of_file(own: Sequence[WarningRow], path: str, parsed: ParsedResult) -> list[ImportProblem]:
    """What reading a file says today; columns that somebody left out are still left out."""
    before = {row["message"] for row in own}
    found = []
    for column in parsed.unread_columns:
        for ignored in ((column[1],), None):
            source = SourceFile(path, b"", 0, given=FileDescription(ignored=ignored))
            (one,), _ = unread_columns([column], source)
            if ignored is None or one.message in before:
                found.append(one)
                break
    return found + [
        ImportProblem(one.message, path, one.line, one.column, is_note=one.is_note)
        for one in (*parsed.warnings, *dates.doubts(parsed))
    ]


def _sorted(rows: Sequence[WarningRow]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)
