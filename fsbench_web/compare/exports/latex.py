"""Delta tables as LaTeX with booktabs. Pure. All text is escaped: no name can run a command."""

import re
from urllib.parse import quote

from fsbench_web.compare.exports.document import Document, one_line, written
from fsbench_web.compare.tables.columns import Column
from fsbench_web.core.comparison.rows import DeltaTable

LONGEST = 40
"""Rows of a table that fits on a page; a longer one becomes a longtable."""
MANY = 6
"""Columns that a page of ordinary margins holds; more of them are set smaller and closer."""
NARROW = r"\footnotesize\setlength{\tabcolsep}{3pt}"
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    # Behind the end of a row these two would be taken for its options.
    "[": "{[}",
    "*": "{*}",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "µ": r"$\mu$",  # micro sign
    "μ": r"$\mu$",  # the Greek letter
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "→": r"$\rightarrow$",
    "Δ": r"$\Delta$",
}
_SPECIAL = re.compile("[" + re.escape("".join(_ESCAPES)) + "]")


def write(document: Document) -> bytes:
    """A ``table`` for each test and category, or a ``longtable`` for a long one, in UTF-8."""
    lines = [
        f"% {one_line(document.title)}",
        *(f"% {name}: {one_line(value)}" for name, value in document.facts),
        r"% Needs in the preamble: \usepackage[T1]{fontenc}\usepackage{textcomp,booktabs,url}",
        r"% and for tables longer than a page \usepackage{longtable}.",
        "% Letters of names beyond Latin ones need LuaLaTeX or XeLaTeX and a font that has them.",
    ]
    for number, table in enumerate(document.tables, start=1):
        lines += ["", *_table(document, table, number)]
    return ("\n".join(lines) + "\n").encode()


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is, in one line."""
    # Two hyphens would become a dash.
    apart = one_line(text).replace("--", "-\x00-").replace("--", "-\x00-")
    return _SPECIAL.sub(lambda match: _ESCAPES[match[0]], apart).replace("\x00", "{}")


def _table(document: Document, table: DeltaTable, number: int) -> list[str]:
    title, unit, table_columns, written_rows, remarks, notes, _ = written(table)
    caption = f"{escaped(title)} ({escaped(unit)})"
    label = f"tab:fsbench-{number}"
    rows = []
    for row, mark, letters in written_rows:
        cells = [_cell(column, column.text(row)) for column in table_columns]
        if mark == "best":
            cells[0] = rf"\textbf{{{cells[0]}}}"
        elif mark:
            cells[0] += f" ({mark})"
        if letters:
            cells[0] += rf"\textsuperscript{{{','.join(letters)}}}"
        rows.append(" & ".join(cells) + r" \\")
    head = " & ".join(escaped(column.heading) for column in table_columns) + r" \\"
    foot = [
        *map(escaped, remarks),
        *(
            rf"\textsuperscript{{{note.mark}}}~{escaped(note.label)}: {escaped(note.sentence)}"
            for note in notes
        ),
        rf"Source: \url{{{_url(document.address)}}}, as of {document.as_of:%Y-%m-%d}.",
    ]
    if len(rows) > LONGEST:
        return _long(table_columns, caption, label, head, rows, foot)
    return [
        r"\begin{table}[htbp]",
        r"  \centering" + (NARROW if len(table_columns) > MANY else ""),
        rf"  \caption{{{caption}}}",
        rf"  \label{{{label}}}",
        rf"  \begin{{tabular}}{{{_alignment(table_columns)}}}",
        r"    \toprule",
        f"    {head}",
        r"    \midrule",
        *(f"    {row}" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        *(rf"  \par\smallskip{{\footnotesize {line}\par}}" for line in foot),
        r"\end{table}",
    ]


def _long(
    columns: list[Column], caption: str, label: str, head: str, rows: list[str], foot: list[str]
) -> list[str]:
    return [
        *(["{" + NARROW] if len(columns) > MANY else ["{"]),
        rf"\begin{{longtable}}{{{_alignment(columns)}}}",
        rf"  \caption{{{caption}}}\label{{{label}}}\\",
        r"  \toprule",
        f"  {head}",
        r"  \midrule",
        r"  \endfirsthead",
        r"  \toprule",
        f"  {head}",
        r"  \midrule",
        r"  \endhead",
        r"  \bottomrule",
        r"  \endlastfoot",
        *(f"  {row}" for row in rows),
        r"\end{longtable}}",
        *(rf"{{\footnotesize {line}\par}}" for line in foot),
    ]


def _cell(column: Column, text: str) -> str:
    """A number's hyphen is a minus sign, as wide as a plus."""
    is_negative = column.kind != "text" and text.startswith("-")
    return "$-$" + escaped(text[1:]) if is_negative else escaped(text)


def _alignment(columns: list[Column]) -> str:
    return "".join("l" if column.kind == "text" else "r" for column in columns)


def _url(address: str) -> str:
    """For \\url, which takes all but braces, backslashes and blanks as they are."""
    return quote(address, safe="%/:?#[]@!$&'()*+,;=-._~")
