"""The columns of delta tables, for pages, files and sort keys. Pure.

``value_of`` is unrounded, in the stored unit; ``text`` is for people, in the shown unit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, Literal, TypeVar

from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable

Value = str | bool | float | int | Decimal | None
Row = TypeVar("Row")


@dataclass(frozen=True)
class ColumnOf(Generic[Row]):
    """One column of one table. ``heading`` is for people; programs read its key instead."""

    heading: str
    kind: Literal["text", "number"]
    value_of: Callable[[Row], Value]
    text: Callable[[Row], str]


Column = ColumnOf[DeltaRow]


def columns_of(table: DeltaTable) -> dict[str, Column]:
    """Every column that a table can have, by the name that CSV and XLSX give it."""

    def amount(heading: str, value_of: Callable[[DeltaRow], float | None]) -> Column:
        return Column(
            *(heading, "number", value_of),
            lambda row: table.amount(value_of(row), row.shown_half_width),
        )

    return {
        "test": _text("Test", lambda row: table.test),
        "category": _text("Category", lambda row: table.category),
        "contender": _text("Contender", lambda row: row.contender),
        "configuration": _text("Configuration", lambda row: row.configuration),
        "workload": _text("Workload", lambda row: row.workload),
        "hardware": _text("Hardware", lambda row: row.hardware),
        "lun": _text("LUN", lambda row: row.lun),
        "kernel": _text("Kernel", lambda row: row.kernel),
        "study": _text("Study", lambda row: row.study),
        "study_title": _text("Study", lambda row: row.study_title),
        "n": _plain("n", lambda row: row.runs),
        "cells": Column(
            *("Data points", "number", lambda row: row.cells),
            lambda row: row.coverage or numbers.MISSING,
        ),
        "score": amount("Score", lambda row: row.score),
        "unit": _text("Unit", lambda row: table.unit),
        "best": Column("Best", "text", lambda row: row.best, table.mark_of),
        "printed_score": _plain("As printed", lambda row: row.printed_score),
        "printed_unit": _text("Printed in", lambda row: row.printed_unit),
        "interval_mean": amount("Mean", lambda row: row.interval.mean if row.interval else None),
        "interval_half_width": amount("± 95%", lambda row: row.shown_half_width),
        "interval_percent": _percent(
            "± 95%, %", lambda row: row.interval.relative_percent if row.interval else None
        ),
        "ceiling": Column(
            *("The LUN itself", "number", _ceiling), lambda row: table.amount(_ceiling(row))
        ),
        "ceiling_of": _text("The LUN itself", lambda row: row.share.of if row.share else None),
        "share_percent": Column(
            *(
                "Of the LUN, %",
                "number",
                lambda row: row.share.shown_percent if row.share else None,
            ),
            lambda row: row.share.percent_words.removesuffix("%") if row.share else numbers.MISSING,
        ),
        "delta1_percent": _percent("Delta 1, %", lambda row: row.delta1_percent),
        "published_delta1_percent": _plain(
            "Delta 1 printed, %",
            lambda row: row.published.delta1_percent if row.published else None,
        ),
        "delta2_percent": _percent("Delta 2, %", lambda row: row.delta2_percent),
        "published_delta2_percent": _plain(
            "Delta 2 printed, %",
            lambda row: row.published.delta2_percent if row.published else None,
        ),
        "change_percent": _percent("Against the baseline, %", lambda row: row.change_percent),
        "verdict": _text("Difference", lambda row: uncertainty.verdict_with_effect(row) or None),
        "difference": _text("Difference", lambda row: row.verdict and row.verdict.status),
        "method": _text("Method", lambda row: row.verdict and row.verdict.method),
        "ratio": _plain("Ratio", lambda row: row.verdict and row.verdict.ratio),
        "ratio_low": _plain("Ratio, low", lambda row: row.verdict and row.verdict.ratio_low),
        "ratio_high": _plain("Ratio, high", lambda row: row.verdict and row.verdict.ratio_high),
        "blocks": _plain("Blocks", lambda row: row.verdict and row.verdict.blocks),
        "flags": _text("Flags", lambda row: ";".join(row.flags)),
        "run_ids": _text("Runs", lambda row: ";".join(map(str, row.run_ids))),
    }


def _ceiling(row: DeltaRow) -> float | None:
    return row.share.ceiling if row.share else None


def _text(heading: str, value_of: Callable[[DeltaRow], str | None]) -> Column:
    return Column(heading, "text", value_of, lambda row: value_of(row) or numbers.MISSING)


def _percent(heading: str, value_of: Callable[[DeltaRow], float | None]) -> Column:
    return Column(heading, "number", value_of, lambda row: numbers.percent(value_of(row)))


def _plain(heading: str, value_of: Callable[[DeltaRow], Value]) -> Column:
    """A number with the digits that it has."""

    def text(row: DeltaRow) -> str:
        value = value_of(row)
        return numbers.MISSING if value is None else str(value)

    return Column(heading, "number", value_of, text)
