"""The appendices: every table, and how to do it again."""

from collections.abc import Iterable, Mapping, Sequence

from fsbench_web.compare.drawings.charts import table_title
from fsbench_web.compare.exports.document import (
    columns,
    footnotes,
    marks,
    remarks,
    unit_line,
)
from fsbench_web.compare.report.blocks import (
    Block,
    Commands,
    FoldBegins,
    FoldEnds,
    Grid,
    Heading,
    Prose,
    paragraph,
)
from fsbench_web.compare.report.recorded_series import (
    Method,
    RecordedSeries,
    by_command_lines,
    unlisted_remark,
)
from fsbench_web.compare.selection import folds
from fsbench_web.compare.tables.findings import Part
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.studies.models import Study

MOST_TABLES = 300
"""Tables that are printed; those beyond are named and had as a file."""
MOST_ROWS = 3000
"""Rows of all tables that are printed: 60 pages of paper."""


def tables_of(
    tables: Sequence[DeltaTable], places: Mapping[int, str], csv_address: str
) -> Iterable[Block]:
    """``places`` are the anchors of the tables by identity; ``csv_address`` has all of them."""
    yield Heading("Appendix A: tables", 1, "tables")
    yield Prose(
        (
            Part("The same as a file, unrounded: "),
            Part(csv_address, csv_address),
            Part("."),
        )
    )
    printed = printed_tables(tables)
    for folded_table in folds.with_folds(printed, lambda table: table.test):
        table = folded_table.entry
        if folded_table.opens:
            yield FoldBegins(folded_table.opens.title, folded_table.opens.of)
        table_columns, notes = columns(table), footnotes(table)
        yield Grid(
            columns=tuple((column.heading, column.kind == "number") for column in table_columns),
            rows=tuple(
                (
                    table_columns[0].text(row)
                    + (f" ({table_mark})" if (table_mark := table.mark_of(row)) else "")
                    + "".join(f" ({mark})" for mark in marks(row, notes)),
                    *(column.text(row) for column in table_columns[1:]),
                )
                for row in table.rows
            ),
            title=f"{table_title(table)} ({unit_line(table)})",
            anchor=places[id(table)],
            strong=frozenset(
                place for place, row in enumerate(table.rows) if table.mark_of(row) == "best"
            ),
            notes=(
                *remarks(table),
                *(f"({note.mark}) {note.label}: {note.sentence}" for note in notes),
            ),
        )
        if folded_table.closes:
            yield FoldEnds()
    if len(tables) > len(printed):
        yield paragraph(
            f"These are the first {len(printed)} of {len(tables)} tables; the file has all of them."
        )


def printed_tables(tables: Sequence[DeltaTable]) -> Sequence[DeltaTable]:
    """The first of the tables, whole: as many as have ``MOST_ROWS`` rows; one at least."""
    rows = 0
    for place, table in enumerate(tables[:MOST_TABLES]):
        rows += len(table.rows)
        if rows > MOST_ROWS and place:
            return tables[:place]
    return tables[:MOST_TABLES]


def commands_of(study: Study, method: Method, site: str, query: str) -> Iterable[Block]:
    """``query`` is that of the study's tables, for the calls that give the numbers."""
    yield Heading("Appendix B: doing it again", 1, "reproduction")
    if study.is_published:
        yield paragraph(
            "The figures come from the publication. Its method is above; fsbench has run none of "
            "it, and knows no command beyond those that the publication names."
        )
    else:
        yield from _commands(method, site)
    yield Commands(
        "The numbers of this report",
        (
            f"curl '{site}api/v1/deltas.csv?{query}'",
            f"curl '{site}api/v1/deltas?{query}'",
            f"curl '{site}api/v1/studies/{study.slug}'",
        ),
    )


def _commands(method: Method, site: str) -> Iterable[Block]:
    groups = by_command_lines(method.series)
    if groups:
        yield paragraph(
            "The commands as they were run, in this order, of the newest finished run of each "
            "configuration. They erase the disk that they name."
        )
    for group, lines in groups:
        yield Commands(_series_words(group), lines)
    silent = [series for series in method.series if not series.commands]
    if silent:
        names = ", ".join(dict.fromkeys(series.configuration for series in silent))
        yield paragraph(
            f"No command is recorded of: {names}. They were imported, or are not done yet."
        )
    for line in unlisted_remark(method):
        yield paragraph(line)


def _series_words(group: Sequence[RecordedSeries]) -> str:
    return "; ".join(
        f"{series.configuration}, {series.workload or 'workload not known'}, run {series.run_id}"
        for series in group
    )
