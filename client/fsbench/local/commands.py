"""``fsbench compare`` and ``read``: results on this machine, on the terminal and in files.

What reads and judges is imported where it is used: other commands start without it.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from fsbench import comparing, terminal
from fsbench.exits import FINE, NOT_COMPARABLE, REFUSED
from fsbench.terminal import Cell, Column

if TYPE_CHECKING:
    from fsbench.local.comparison import LocalComparison
    from fsbench.local.problems import FileProblem
    from fsbench_web.core.comparison import answer

MOST_SHOWN = 8
MOST_ROWS = 1000
_COLOURS = {"u1": "green", "u2": "bold green", "d1": "red", "d2": "bold red"}


def compare(options: SimpleNamespace) -> int:
    """Print which entry is faster, and how sure that is; see docs/client.md."""
    from fsbench.local.comparison import compare as compare_files

    if options.check and not options.baseline:
        raise ValueError("--check needs --baseline NAME: say what may not get slower than what.")
    for path in options.paths:
        if not set("*?[") & set(path) and not Path(path).exists():
            raise ValueError(f"There is no file or folder {path}. Check the path.")
    if not 0 < options.equivalence < 100:
        raise ValueError("--equivalence is a percentage above 0 and below 100.")
    comparison = compare_files(
        *options.paths,
        by=options.by or "",
        baseline=options.baseline,
        equivalence=options.equivalence,
        blocks=options.blocks or "",
        units=options.units or "",
    )
    if options.html:
        Path(options.html).write_text(comparison.to_html(), encoding="utf-8")
        terminal.note(f"{options.html} is written.")
    if options.check:
        return _checked(comparison, options)
    if options.json:
        terminal.print_json(comparison.to_dict())
    elif options.markdown:
        sys.stdout.write(comparison.to_markdown())
    else:
        _print(comparison)
    if options.strict and comparison.losses:
        return REFUSED
    return NOT_COMPARABLE if comparison.status == "none" else FINE


def _checked(comparison: "LocalComparison", options: SimpleNamespace) -> int:
    asked = SimpleNamespace(
        baseline=comparison.baseline,
        contender=None,
        allow_mixed=options.allow_mixed,
        margin=options.margin,
        json=options.json,
    )
    code = comparing.judge(comparison.to_dict(), "", asked)
    _complain_of(comparison.losses)
    return REFUSED if code == FINE and options.strict and comparison.losses else code


def _print(comparison: "LocalComparison") -> None:
    terminal.print_line(terminal.coloured(terminal.clean(comparison.sentence), "bold"))
    if comparison.details:
        terminal.print_line(*map(terminal.clean, comparison.details))
    if comparison.basis:
        terminal.print_line(f"Based on {terminal.clean(comparison.basis)}.")
    if comparison.matrix is not None:
        terminal.print_line("", *_matrix_lines(comparison.matrix))
    caveats = [terminal.coloured(f"! {text}", "yellow") for text in comparison.caveats]
    if caveats:
        terminal.print_line("", *caveats)
    if advice := comparison.advice:
        terminal.print_line("", *map(terminal.clean, advice[:MOST_SHOWN]))
    if (more := len(advice) - MOST_SHOWN) > 0:
        terminal.print_line(f"And {more:,} more tests need repeats.")
    if comparison.status == "none":
        terminal.complain(*_how_to_compare(comparison))
    _complain_of(comparison.losses)
    for entry in comparison.notes[:MOST_SHOWN]:
        terminal.note(terminal.clean(entry))
    if (more := len(comparison.notes) - MOST_SHOWN) > 0:
        terminal.note(f"And {more:,} more notes: --json has all.")


def _how_to_compare(comparison: "LocalComparison") -> Iterator[str]:
    """What to do where nothing is compared."""
    if comparison.found.missing == "one_entry":
        yield "Give two folders or more, one for each thing that you compare:"
        yield "  fsbench compare ext4/ xfs/"
        yield "One table can name what its rows are of in a column called configuration."
    elif comparison.are_named:
        yield "The files' names were taken for entries. Put the repeats of an entry in one folder."
    else:
        yield "The entries measured different tests. Run the same tests for each, with one tool."


def _matrix_lines(found: "answer.Matrix") -> Iterator[str]:
    baseline = terminal.clean(found.baseline)
    yield f"Change against {baseline}; ≈ is not significant."
    for workload, rows in found.groups:
        if workload:
            yield terminal.coloured(terminal.clean(workload), "bold")
        columns = [Column.name("test", lambda row: row.label)]
        for place, name in enumerate(found.entries):
            columns.append(Column.number(name, partial(_cell, place)))
        yield terminal.table(columns, rows)
    if found.hidden_rows or found.hidden_entries:
        hidden = f"{found.hidden_rows} tests, {found.hidden_entries} entries"
        yield f"Not shown: {hidden}. --json has all."


def _cell(place: int, row: "answer.MatrixRow") -> Cell:
    from fsbench.local.markdown import cell_text

    cell = row.cells[place]
    return Cell(cell_text(cell), _COLOURS.get(cell.shade, "") if cell is not None else "")


def _complain_of(losses: "Sequence[FileProblem]") -> None:
    if not losses:
        return
    terminal.complain(f"Not read or not counted ({len(losses):,}):")
    terminal.complain(*(f"  {terminal.clean(entry)}" for entry in losses[:MOST_SHOWN]))
    if (more := len(losses) - MOST_SHOWN) > 0:
        terminal.complain(f"  and {more:,} more: --json has all.")


def read(options: SimpleNamespace) -> int:
    """Print the numbers of files as a table, CSV or JSON, or write Parquet."""
    from fsbench.local.numbers import read as read_numbers

    numbers = read_numbers(*options.paths)
    if options.parquet:
        numbers.to_parquet(options.parquet)
        terminal.note(f"{options.parquet}: {terminal.quantity(len(numbers), 'number')}.")
    elif options.csv:
        numbers.to_csv(sys.stdout)
    elif options.json:
        for number in numbers:
            print(json.dumps(number._asdict()))
    else:
        rows = [row for row, _ in zip(numbers, range(MOST_ROWS), strict=False)]
        shown = [column for column in _COLUMNS if any(column.cell(row).text for row in rows)]
        terminal.print_line(terminal.table(shown, rows))
        if (more := len(numbers) - len(rows)) > 0:
            terminal.note(f"And {more:,} more numbers: --csv has all.")
    _complain_of([entry for entry in numbers.problems if entry.is_loss])
    return FINE


_COLUMNS = (
    Column.name("file", lambda row: row.file),
    *(
        Column.name(name, attrgetter(name))
        for name in ("configuration", "filesystem", "hardware", "kernel", "block")
    ),
    Column.number("repeat", lambda row: row.repeat),
    Column.name("test", lambda row: row.test),
    Column.name("load", lambda row: row.load),
    Column.number("record KB", lambda row: row.record_size_kb),
    Column.number("file KB", lambda row: row.file_size_kb),
    Column.number("value", lambda row: terminal.number(row.value)),
    Column("unit", lambda row: row.unit),
)
