"""Delta tables as Markdown (GitHub's tables), for wikis, issues and pull requests. Pure."""

import re

from fsbench_web.compare.exports.document import (
    Document,
    columns,
    footnotes,
    marks,
    one_line,
    remarks,
    table_title,
    unit_line,
)
from fsbench_web.core.comparison.rows import DeltaTable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&$@])")


def write(document: Document) -> bytes:
    """Title, where it comes from, and a table for each test and category, in UTF-8."""
    lines = [f"# {escaped(document.title)}", ""]
    for name, value in document.facts:
        text = f"<{value}>" if name == "Address" else escaped(value)
        lines.append(f"- {name}: {text}")
    for table in document.tables:
        lines += ["", *_table(table)]
    return ("\n".join(lines) + "\n").encode()


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one line: no markup, no HTML, no cell border."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _table(table: DeltaTable) -> list[str]:
    table_columns, notes = columns(table), footnotes(table)
    lines = [
        f"## {escaped(table_title(table))}",
        "",
        escaped(" ".join([f"{unit_line(table)}.", *remarks(table)])),
        "",
        _row([escaped(column.heading) for column in table_columns]),
        _row(["---" if column.kind == "text" else "---:" for column in table_columns]),
    ]
    for row in table.rows:
        cells = [escaped(column.text(row)) for column in table_columns]
        mark = table.mark_of(row)
        if mark == "best":
            cells[0] = f"**{cells[0]}**"
        if mark:
            cells[0] += f" ({mark})"
        if row_marks := marks(row, notes):
            cells[0] += f" ({', '.join(row_marks)})"
        lines.append(_row(cells))
    if notes:
        lines.append("")
        lines += [
            f"- ({note.mark}) {escaped(note.label)}: {escaped(note.sentence)}" for note in notes
        ]
    return lines


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
