"""What a report shows. Every number is that of a table; compare/report.html has the words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.compare.exports.document import written
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.findings import Finding
from fsbench_web.compare.tables.statements import check
from fsbench_web.core.comparison.headlines import headline_tables
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.studies.models import Study

MOST_TABLES = 300
"""Tables that are printed; the file has those beyond."""
MOST_ROWS = 3000
"""Rows of all tables that are printed: 60 pages of paper."""
_OF_METHOD = ("facts", "list", "missing", "table")


@dataclass(frozen=True)
class Grid:
    """A table. ``columns`` are (heading, is it numeric); ``strong`` are the places of best rows."""

    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[str]]
    title: str = ""
    anchor: str = ""
    strong: frozenset[int] = frozenset()
    notes: Sequence[str] = ()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The rows for a template: cells with whether they are numeric."""
        return [
            {
                "is_strong": place in self.strong,
                "cells": [
                    (cell, is_numeric)
                    for cell, (_, is_numeric) in zip(row, self.columns, strict=True)
                ],
            }
            for place, row in enumerate(self.rows)
        ]


@dataclass(frozen=True)
class ReportTest:
    label: str
    sentences: list[Finding] = field(default_factory=list)
    tables: list[Grid] = field(default_factory=list)


def content_of(study: Study, tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """The part of the template's context that the tables of the study give."""
    printed = printed_tables(tables)
    places = {id(table): f"#table-{number}" for number, table in enumerate(tables, start=1)}

    def place(table: DeltaTable) -> str:
        return places[id(table)]

    # As its page has it: all categories are what a paper's tables are read by.
    answering = tables if study.is_published else headline_tables(tables)
    stated: Sequence[Mapping[str, Any]] = next(
        (section["items"] for section in study.sections if section["kind"] == "statements"), ()
    )
    stated_charts = [section for section in study.sections if section["kind"] == "chart"]
    return {
        "tables_count": len(tables),
        "printed_count": len(printed),
        "tests_count": len({table.test for table in tables}),
        "costs_count": sum(testnames.is_cost(table.test) for table in tables),
        "runs_count": len({run for table in tables for row in table.rows for run in row.run_ids}),
        "findings": findings.findings_by_test(answering, place),
        "checked": check(stated, tables, place),
        "tests": _tests(tables, printed, places),
        "paper_grids": [_stated_values(section) for section in stated_charts],
        "described": [
            _described(section) for section in study.sections if section["kind"] in _OF_METHOD
        ],
        "definitions": [
            (categories.label(slug), categories.category(slug).definition)
            for slug in categories.all_slugs()
        ],
    }


def printed_tables(tables: Sequence[DeltaTable]) -> Sequence[DeltaTable]:
    """The first of the tables, whole: as many as have ``MOST_ROWS`` rows; one at least."""
    rows = 0
    for place, table in enumerate(tables[:MOST_TABLES]):
        rows += len(table.rows)
        if rows > MOST_ROWS and place:
            return tables[:place]
    return tables[:MOST_TABLES]


def _tests(
    tables: Sequence[DeltaTable], printed: Sequence[DeltaTable], places: Mapping[int, str]
) -> list[ReportTest]:
    tests = {table.test: ReportTest(testnames.label(table.test)) for table in printed}
    for finding in findings.findings(tables, lambda table: places[id(table)]):
        if finding.test in tests:
            tests[finding.test].sentences.append(finding)
    for table in printed:
        tests[table.test].tables.append(_grid(table, places[id(table)][1:]))
    return list(tests.values())


def _grid(table: DeltaTable, anchor: str) -> Grid:
    shown = written(table)
    first, *others = shown.columns
    return Grid(
        [(column.heading, column.kind == "number") for column in shown.columns],
        [
            [
                first.text(row) + "".join(f" ({sign})" for sign in (mark, *letters) if sign),
                *(column.text(row) for column in others),
            ]
            for row, mark, letters in shown.rows
        ],
        title=f"{shown.title} ({shown.unit})",
        anchor=anchor,
        strong=frozenset(place for place, (_, mark, _) in enumerate(shown.rows) if mark == "best"),
        notes=[*shown.remarks, *shown.lines],
    )


def _described(section: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a publication says of its method; its tables as a Grid."""
    if section["kind"] != "table":
        return {**section, "entries": section.get("items", ())}  # a dict has items of its own
    numeric = section.get("numeric", ())
    named = [(str(name), place in numeric) for place, name in enumerate(section["columns"])]
    return {**section, "grid": Grid(named, [list(map(str, row)) for row in section["rows"]])}


def _stated_values(section: Mapping[str, Any]) -> Grid:
    """The values of a chart that a paper printed without a table."""
    return Grid(
        [("Entry", False), (f"{section['unit']}, less is better", True)],
        [
            [label, "not stated" if value is None else f"{bound} {value}".strip()]
            for label, value, bound in section["rows"]
        ],
        title=section["title"],
        notes=[text for text in (section.get("text"), section.get("note")) if text],
    )
