"""What a report says, chapter by chapter. Pure but for the rows it is given.

Executive summary, methodology, comparative analysis, and the appendices: every table, and how to
do it again. Every number is that of a table; what was not recorded is said to be so.
"""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from fsbench_web.compare.report import appendices
from fsbench_web.compare.report.analysis import analysis
from fsbench_web.compare.report.blocks import (
    Block,
    Heading,
    Report,
    paragraph,
)
from fsbench_web.compare.report.methodology import methodology
from fsbench_web.compare.report.recorded_series import Method
from fsbench_web.compare.report.summary import summary
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.headlines import headline_tables
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.conversion import BINARY
from fsbench_web.studies.models import Study


def report_of(
    study: Study,
    tables: Sequence[DeltaTable],
    method: Method,
    *,
    site: str,
    address: str,
    by: str,
    made_at: datetime,
    units: str = "",
    emulated: str = "",
    in_turn: str = "",
    left_out: str = "",
    work: Sequence[str] = (),
) -> Report:
    """``site`` is the address of the home page, with its last slash; ``address`` the report's.

    ``emulated`` says what the tables leave out because it was emulated, "" where they leave nothing
    out; ``left_out`` likewise what is more than a report holds. ``in_turn`` says where each
    contender was measured on days of its own. ``work`` says what was measured of
    a work profile, whose tables stand before the others.
    """
    places = {id(table): f"table-{number}" for number, table in enumerate(tables, start=1)}

    def place(table: DeltaTable) -> str:
        return f"#{places[id(table)]}"

    # As its page has it: all categories are what a paper's tables are read by.
    answering = tables if study.is_published else headline_tables(tables)
    collected = findings.findings_by_test(answering, place)
    pairs = [("study", study.slug), *([("by", by)] if by != "filesystem" else [])]
    if not units and any(table.has_printed_units for table in tables):
        units = BINARY  # the API answers as printed, unless it is asked
    query = urlencode(pairs)
    in_units = urlencode([*pairs, *([("units", units)] if units else [])])
    blocks: list[Block] = [
        *([Heading("Your own work", 1, "work")] if work else []),
        *map(paragraph, work),
        *summary(study, tables, collected, place, site),
        *(paragraph(sentence) for sentence in (left_out, emulated, in_turn) if sentence),
        *methodology(study, method),
        *analysis(study, tables, place, site),
        *appendices.tables_of(tables, places, f"{site}api/v1/deltas.csv?{in_units}"),
        *appendices.commands_of(study, method, site, query),
    ]
    people = ", ".join(part for part in (study.authors, study.organisation) if part)
    facts = [
        ("By", people),
        ("Published", study.published_on if study.is_published else ""),
        ("Report made", f"{made_at:%Y-%m-%d %H:%M %Z}"),
        ("Address", address),
    ]
    return Report(
        study.title, tuple((name, value) for name, value in facts if value), address, tuple(blocks)
    )
