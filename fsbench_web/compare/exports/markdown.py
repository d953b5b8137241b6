"""Delta tables as Markdown (GitHub's tables), for wikis, issues and pull requests. Pure."""

import re

from fsbench_web.compare.exports.document import Document, one_line, written
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
    title, unit, columns, rows, remarks, footnotes, _ = written(table)
    notes = [f"- ({one.mark}) {escaped(one.label)}: {escaped(one.sentence)}" for one in footnotes]
    lines = [
        f"## {escaped(title)}",
        "",
        escaped(" ".join([f"{unit}.", *remarks])),
        "",
        _row([escaped(column.heading) for column in columns]),
        _row(["---" if column.kind == "text" else "---:" for column in columns]),
    ]
    for row, mark, letters in rows:
        cells = [escaped(column.text(row)) for column in columns]
        if mark == "best":
            cells[0] = f"**{cells[0]}**"
        if mark:
            cells[0] += f" ({mark})"
        if letters:
            cells[0] += f" ({', '.join(letters)})"
        lines.append(_row(cells))
    return [*lines, *([""] if notes else []), *notes]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
