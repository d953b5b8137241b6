"""A comparison as Markdown, for an issue."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fsbench import terminal
from fsbench_web.core.comparison.answer import Cell, Matrix

if TYPE_CHECKING:
    from fsbench.local.comparison import LocalComparison

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>|#&~"})
# A space without width parts the sign from the name, so that nobody is called.
_SPECIAL[ord("@")] = "@&#8203;"


def written(comparison: "LocalComparison") -> str:
    """The answer, the matrix, caveats and what was not read."""
    lines = [f"**{escaped(comparison.sentence)}**", ""]
    lines += [f"{escaped(text)}  " for text in comparison.details]
    if comparison.basis:
        lines.append(f"Based on {escaped(comparison.basis)}.")
    if comparison.matrix is not None:
        lines += ["", *_table(comparison.matrix)]
    remarks = [
        *comparison.caveats,
        *comparison.advice[:5],
        *(str(entry) for entry in comparison.losses),
    ]
    if remarks:
        lines += ["", *(f"- {escaped(text)}" for text in remarks)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return " ".join(terminal.clean(text).split()).translate(_SPECIAL)


def _table(matrix: Matrix) -> Iterator[str]:
    names = [escaped(name) for name in matrix.entries]
    yield f"| Test | {' | '.join(names)} |"
    yield f"| --- |{' ---: |' * len(names)}"
    for workload, rows in matrix.groups:
        if workload and len(matrix.groups) > 1:
            yield f"| *{escaped(workload)}* |{' |' * len(names)}"
        for row in rows:
            cells = " | ".join(escaped(cell_text(cell)) for cell in row.cells)
            yield f"| {escaped(row.label)} | {cells} |"
    yield ""
    yield f"Change against {escaped(matrix.baseline)}. ≈ marks changes that are not significant."
    if matrix.hidden_rows or matrix.hidden_entries:
        yield f"Not shown: {matrix.hidden_rows} tests, {matrix.hidden_entries} entries."


def cell_text(cell: Cell | None) -> str:
    """The score with its unit, and the change against the baseline."""
    if cell is None:
        return "–"
    score = f"{cell.score} {cell.unit}".strip()
    return f"{score}, {cell.change}" if cell.change else score
