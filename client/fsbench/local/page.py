"""A comparison as one HTML page. Everything on it is escaped; it loads nothing and runs nothing."""

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fsbench import terminal
from fsbench.local.problems import FileProblem
from fsbench_web.core.comparison.answer import Cell, Matrix

if TYPE_CHECKING:
    from fsbench.local.comparison import LocalComparison

MOST_PROBLEMS = 100
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; }
h1 { font-size: 1.5rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; } caption { text-align: left; }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: right; }
th:first-child { text-align: left; } .change { display: block; }
.u1 { background: #2a92; } .u2 { background: #2a96; }
.d1 { background: #e632; } .d2 { background: #e636; }
@media (max-width: 30rem) { th, td { padding: .2rem .3rem; font-size: .85rem; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def written(comparison: "LocalComparison") -> str:
    """The whole page."""
    title = escape(comparison.sentence)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body><main>",
            f'<h1 data-status="{escape(comparison.status)}">{title}</h1>',
            *(f"<p>{escape(text)}</p>" for text in comparison.details),
            *([f"<p>Based on {escape(comparison.basis)}.</p>"] if comparison.basis else []),
            *_matrix(comparison.matrix),
            *_list("Caveats", comparison.caveats),
            *_list("Repeat", comparison.advice),
            *_list("Not read or not counted", _texts(comparison.losses)),
            *_list("Notes on the files", _texts(comparison.notes)),
            "</main></body></html>",
            "",
        ]
    )


def escape(text: str) -> str:
    """Text of others in one line, without what a file's name may hold and no page can."""
    return html.escape(terminal.clean(text))


def _texts(problems: Sequence[FileProblem]) -> list[str]:
    texts = [str(entry) for entry in problems[:MOST_PROBLEMS]]
    more = len(problems) - MOST_PROBLEMS
    return [*texts, f"And {more:,} more."] if more > 0 else texts


def _list(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        items = "".join(f"<li>{escape(text)}</li>" for text in texts)
        yield f"<h2>{title}</h2><ul>{items}</ul>"


def _matrix(matrix: Matrix | None) -> Iterator[str]:
    if matrix is None:
        return
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in matrix.entries)
    yield f'<div class="wide" tabindex="0"><table><caption>Change against {escape(matrix.baseline)}'
    yield f'. ≈: not significant.</caption><tr><th scope="col">Test</th>{heads}</tr>'
    for workload, rows in matrix.groups:
        if workload:
            span = len(matrix.entries) + 1
            yield f'<tr><th scope="rowgroup" colspan="{span}">{escape(workload)}</th></tr>'
        for row in rows:
            cells = "".join(map(_cell, row.cells))
            yield f'<tr><th scope="row">{escape(row.label)}</th>{cells}</tr>'
    yield "</table></div>"
    if matrix.hidden_rows or matrix.hidden_entries:
        yield f"<p>Not shown: {matrix.hidden_rows} tests, {matrix.hidden_entries} entries.</p>"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "<td>–</td>"
    change = f'<span class="change">{escape(cell.change)}</span>' if cell.change else ""
    return f'<td class="{cell.shade}">{escape(f"{cell.score} {cell.unit}".strip())}{change}</td>'
