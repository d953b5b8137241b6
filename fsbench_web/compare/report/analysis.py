"""The chapter that compares, test by test, and sets it against what a paper states."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fsbench_web.compare.drawings import charts
from fsbench_web.compare.drawings.bars import Bar, Stack, bars, stacks
from fsbench_web.compare.drawings.shapes import Drawing
from fsbench_web.compare.report.appendices import printed_tables
from fsbench_web.compare.report.blocks import (
    Block,
    Charts,
    FoldBegins,
    FoldEnds,
    Grid,
    Heading,
    bullets,
    paragraph,
)
from fsbench_web.compare.selection import folds
from fsbench_web.compare.tables import findings, statements
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core import numbers
from fsbench_web.core.scoring import testnames
from fsbench_web.figures import palette, stacked
from fsbench_web.studies.models import Study

_CHARTS_WIDTH = 330.0


def analysis(
    study: Study, tables: Sequence[DeltaTable], place: Callable[[DeltaTable], str], site: str
) -> Iterable[Block]:
    """Of the tests whose tables are printed; ``place`` and ``site`` as in the summary."""
    yield Heading("Comparative analysis", 1, "analysis")
    if not tables:
        yield paragraph("There is nothing to compare yet.")
    yield from _tests(tables, place, site)
    yield from _paper_charts(study, tables)
    yield from _checked_statements(study, tables, place)


def _tests(
    tables: Sequence[DeltaTable], place: Callable[[DeltaTable], str], site: str
) -> Iterable[Block]:
    findings_here = findings.findings(tables, place)
    tests = dict.fromkeys(table.test for table in printed_tables(tables))
    for folded_test in folds.with_folds(tests, str):
        test = folded_test.entry
        if folded_test.opens:
            yield FoldBegins(folded_test.opens.title, folded_test.opens.of)
        of_test = [table for table in tables if table.test == test]
        yield Heading(testnames.label(test), 2)
        yield Charts(
            tuple(charts.chart(table, width=_CHARTS_WIDTH, max_rows=12) for table in of_test)
        )
        yield bullets([finding for finding in findings_here if finding.test == test], site)
        if folded_test.closes:
            yield FoldEnds()


def _paper_charts(study: Study, tables: Sequence[DeltaTable]) -> Iterable[Block]:
    """The charts that a paper has besides those of its tables."""
    sections = [section for section in study.sections if section["kind"] in ("combined", "chart")]
    charts = [_section_chart(section, tables) for section in sections]
    drawings = tuple(drawing for drawing in charts if drawing is not None)
    if not drawings:
        return
    yield Heading("Read and write combined", 2)
    yield Charts(drawings)
    for section in sections:
        if section["kind"] == "chart":
            yield paragraph(" ".join(filter(None, (section.get("text"), section.get("note")))))


def _checked_statements(
    study: Study, tables: Sequence[DeltaTable], place: Callable[[DeltaTable], str]
) -> Iterable[Block]:
    """What its text states, set against its tables."""
    stated: Sequence[Mapping[str, Any]] = next(
        (section["items"] for section in study.sections if section["kind"] == "statements"), ()
    )
    if not stated:
        return
    titles = ("The text states", "Where", "Verdict", "What the tables show")
    yield Heading("Set against what the text states", 2)
    yield Grid(
        columns=tuple((title, False) for title in titles),
        rows=tuple(
            (
                statement.text,
                statement.place,
                statement.verdict,
                "".join(part.text for part in statement.parts),
            )
            for statement in statements.check(stated, tables, place)
        ),
    )


def _section_chart(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> Drawing | None:
    if section["kind"] == "chart":
        series = palette.series_of([label for label, _, _ in section["rows"]])
        return bars(
            [
                Bar(
                    label,
                    None if value is None else float(value),
                    "not stated" if value is None else f"{bound} {value} {section['unit']}".strip(),
                    number,
                    is_bound=bound == "more than",
                )
                for (label, value, bound), number in zip(section["rows"], series, strict=True)
            ],
            section["title"],
            f"{section['unit']}, less is better",
            width=_CHARTS_WIDTH,
        )
    section_tables = [
        table
        for table in tables
        if table.category == section["category"] and table.test in ("write", "read")
    ]
    if not section_tables:
        return None
    scores: dict[str, dict[str, float]] = {}
    for table in section_tables:
        for row in table.rows:
            scores.setdefault(row.contender, {})[table.test] = row.score
    rows = [
        Stack(
            name,
            (by_test.get("write"), by_test.get("read")),
            numbers.number(by_test["write"] + by_test["read"])
            if len(by_test) == 2
            else numbers.MISSING,
        )
        for name, by_test in scores.items()
    ]
    rows.sort(key=lambda row: (None in row.parts, -sum(part or 0 for part in row.parts)))
    return stacks(
        rows,
        ("write", "read"),
        (stacked.WRITE_SERIES, stacked.READ_SERIES),
        section["title"],
        f"{section_tables[0].unit}, more is better",
        width=_CHARTS_WIDTH,
    )
