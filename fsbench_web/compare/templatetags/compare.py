"""What only comparisons write into pages."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import quote, urlencode

from django import template
from django.http import QueryDict
from django.template import Context
from django.urls import reverse
from django.utils.safestring import SafeString

from fsbench_web.compare.choices import Filter
from fsbench_web.compare.explanations.contenders import why_address
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection import wording
from fsbench_web.compare.selection.fields import SORTS
from fsbench_web.compare.selection.folds import folded_tests
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.selection.table_view import (
    COLUMNS,
    DELTAS,
    FORM,
    NUMBERS,
    USUAL,
    VERDICTS,
    TableView,
    joined,
    without_view,
)
from fsbench_web.compare.tables import statements
from fsbench_web.compare.tables.differences import Difference
from fsbench_web.compare.tables.findings import Finding, Part, findings_by_test
from fsbench_web.compare.tables.statements import CheckedStatement
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.views.shown import TestRow
from fsbench_web.compare.views.table_cells import (
    Column,
    contender_column,
    hidden_places,
    in_order,
    page_columns,
    verdict_of,
)
from fsbench_web.core import numbers
from fsbench_web.core.comparison.headlines import TestLine, headline_tables, line_against
from fsbench_web.core.comparison.rows import (
    DeltaRow,
    DeltaTable,
    shown_names,
    slug_of,
    with_shown_names,
)
from fsbench_web.core.scoring import categories
from fsbench_web.core.units import SUM
from fsbench_web.studies.runs.listing import RunAddresses, run_addresses

register = template.Library()
register.filter("flag_label", wording.flag_label)
register.filter("flag_meaning", wording.flag_meaning)
register.filter("category_label", categories.label)
register.filter("ratio", numbers.ratio)


@register.filter
def of_run(flags: Mapping[int, Sequence[str]], run: int) -> Sequence[str]:
    """The flags of a run of a line; () where it has none."""
    return flags.get(run, ())


@register.filter
def unit_words(unit: str) -> str:
    """A table's unit; the overall score has none and says what it is instead."""
    return "sum of the six categories" if unit == SUM else numbers.unit_name(unit)


@register.simple_tag
def flags_of(sections: Iterable[Section]) -> list[str]:
    """The flags of all rows, each once, in the order of ``wording.FLAGS``."""
    flags = {
        flag
        for section in sections
        for table in section.tables
        for row in table.rows
        for flag in row.flags
    }
    return [*(flag for flag in wording.FLAGS if flag in flags), *sorted(flags - set(wording.FLAGS))]


@register.inclusion_tag("compare/checkboxes.html")
def checkboxes(group: Filter) -> dict[str, Any]:
    """The boxes of one group of filters; further percentiles are folded."""
    chosen = [choice.value for choice in group.choices if choice.is_chosen]
    folded: Collection[str] = ()
    if group.parameter == "test":
        folded = folded_tests((choice.value for choice in group.choices), chosen)
    return {
        "parameter": group.parameter,
        "choices": [choice for choice in group.choices if choice.value not in folded],
        "folded": [choice for choice in group.choices if choice.value in folded],
    }


@register.simple_tag
def chart_address(pattern: str, test: str, query: str = "") -> str:
    """``pattern`` is an address with TEST where the test's name goes."""
    address = pattern.replace("/TEST/", f"/{quote(test, safe='')}/")
    return f"{address}?{query}" if query else address


@register.filter
def also_differ(differences: Iterable[Difference], tables: int) -> str:
    """What else differs and in how many of the tables: one sentence."""
    by_count: dict[int, list[str]] = {}
    for difference in differences:
        by_count.setdefault(difference.tables, []).append(difference.one)
    parts = [
        f"in {wording.joined(names, 12)} ({_of_tables(count, tables)})"
        for count, names in sorted(by_count.items(), reverse=True)
    ]
    return f"They also differ {', '.join(parts)}."


def _of_tables(count: int, tables: int) -> str:
    if count == tables:
        return "in every table" if tables > 1 else "in the table"
    return f"in {count} of {tables} tables"


@register.filter
def titles(differences: Iterable[Difference]) -> str:
    return wording.joined([difference.one for difference in differences], 12)


register.filter("joined", wording.joined)

# Findings, intervals and verdicts on pages.


@register.filter
def sentence(finding: Finding | CheckedStatement) -> SafeString:
    return SafeString("".join(map(_part, finding.parts)))


def _part(part: Part) -> str:
    text = escape(part.text)
    if part.href:
        return f'<a href="{escape(part.href)}">{text}</a>'
    return f"<strong>{text}</strong>" if part.is_name else text


@register.filter
def order_address(finding: Finding) -> str:
    """The form that orders what would decide a finding; "" where nobody knows what would."""
    if finding.decided_by is None:
        return ""
    series, blocks = finding.decided_by
    query = urlencode([*(("series", pk) for pk in series), ("blocks", blocks)])
    return f"{reverse('studies:more_blocks')}?{query}"


@register.inclusion_tag("compare/findings.html", takes_context=True)
def findings_of(
    context: template.Context,
    sections: Iterable[Section],
    stated: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """What the tables say, in sentences that lead to their tables, and what a paper ``stated``."""
    # A page without the rows of its tests leads to the tab that has them.
    page = "" if context.get("shows_tests", True) else context.get("tests_at", "")
    places, tables = {}, []
    for section in sections:
        for table, anchor in zip(section.tables, section.anchors, strict=True):
            places[id(table)] = f"{page}#{anchor}"
            tables.append(table)

    def place(table: DeltaTable) -> str:
        return places[id(table)]

    return {
        "findings": findings_by_test(tables, place),
        **_page_context(context),
        "checked": statements.check(stated, tables, place),
    }


def _page_context(context: template.Context) -> dict[str, Any]:
    """What ran one after the other, and whether this person may submit jobs."""
    user, submitting = context.get("user"), context.get("submitting")
    may_order = user and user.is_authenticated and submitting and submitting.is_allowed
    return {"in_turn": context.get("in_turn"), "may_order": bool(may_order)}


# Delta tables, what chooses their rows and columns, and the line of each test.


@register.inclusion_tag("compare/delta_table.html", takes_context=True)
def delta_table(context: Context, table: DeltaTable) -> dict[str, Any]:
    """A delta table of the page's ``section``, shown as ``table_view`` says."""
    section, spec, view = context.get("section"), context.get("spec"), _view(context)
    anchor = section.anchor_of(table) if section else ""
    table = with_shown_names(table)
    columns = page_columns(table, view)
    spec = spec if isinstance(spec, ComparisonSpec) else None
    label = section.label if section else ""
    return {
        "table": table,
        "label": label,
        "anchor": anchor,
        "unit": _unit(table, view),
        "is_hidden": _is_hidden(table, view),
        "name": f"{label}, {table.category_label}",
        "export": export_address(context, table),
        "why": why_address(table),
        "columns": [contender_column(view), *columns],
        "form": context.get("table_form") or "",
        "rows": _rows(table, spec, view, columns),
    }


def _rows(
    table: DeltaTable, spec: ComparisonSpec | None, view: TableView, columns: Sequence[Column]
) -> Iterator[dict[str, Any]]:
    """All rows, hidden ones for paper. Templates read dicts three times as fast as objects."""
    table = in_order(table, view.sort)
    hidden, has_baseline = hidden_places(table, view), bool(table.baseline)
    has_runs = table.has_runs and not table.runs_of_each
    addresses = run_addresses()
    for place, row in enumerate(table.rows):
        folded = [f"{row.coverage} data points"] if table.has_coverage and row.coverage else []
        folded += [numbers.counted(row.runs, "run")] if has_runs and row.runs is not None else []
        yield {
            "mark": table.mark_of(row),
            "verdict": verdict_of(row, has_baseline),
            "is_hidden": place in hidden,
            "name": _name(row, spec, addresses),
            "below": _below(row, spec, addresses),
            "study": row.study_title if table.has_several_studies else "",
            "folded": ", ".join(folded),
            "flags": [flag for flag in row.flags if flag not in table.common_flags],
            "left_out": row.left_out_words,
            "cells": [(column.classes, *column.cell(row)) for column in columns],
        }


def _name(row: DeltaRow, spec: ComparisonSpec | None, addresses: RunAddresses) -> dict[str, str]:
    """The contender; where a comparison can show its configurations, a link to that."""
    if spec is None:
        return {"text": row.contender}
    if spec.by == "configuration":
        return _origin(row.contender, row, addresses)
    address = _configurations(row.contender, spec)
    return {"text": row.contender, "address": address, "title": "All its configurations"}


@lru_cache(maxsize=1024)
def _configurations(contender: str, spec: ComparisonSpec) -> str:
    """The comparison of all configurations of a contender; "" where there is none."""
    narrower = spec.configurations_of(contender)
    return "" if narrower is None else f"{reverse('compare:page')}?{narrower.to_query()}"


def _below(
    row: DeltaRow, spec: ComparisonSpec | None, addresses: RunAddresses
) -> list[dict[str, str]]:
    """Under the contender: what it is in full, and its configuration with a link."""
    parts = []
    if row.label and slug_of(row.label) != row.contender.split("@")[0]:
        parts.append({"text": row.label})
    if row.subline:
        parts.append(_origin(row.subline, row, addresses))
    elif row.run_ids and spec is not None and spec.by != "configuration":
        parts.append(_origin("runs", row, addresses))
    if (row.configurations or 0) > 1:
        parts.append({"text": f"best of {row.configurations}"})
    return parts


def _origin(text: str, row: DeltaRow, addresses: RunAddresses) -> dict[str, str]:
    """The text with a link to where the row's number comes from: its runs, or the paper."""
    if row.run_ids:
        return {"text": text, "address": addresses.of(row.run_ids), "title": "Its runs"}
    address = reverse("studies:study", args=[row.study])
    return {"text": text, "address": address, "title": f"From {row.study_title}"}


def export_address(context: Context, table: DeltaTable) -> str:
    """The export page of this one table, of the page's ``permalink`` or ``spec``; "" of neither."""
    link, spec = context.get("permalink"), context.get("spec")
    if context.get("is_embedded"):
        return ""  # A page in a frame leads nowhere but to the whole of it.
    if isinstance(link, Permalink):
        query = urlencode({"test": table.test, "category": table.category})
        return f"{reverse('compare:permalink_export', args=[link.key])}?{query}"
    return _part_export(spec, table.test, table.category) if spec else ""


@lru_cache(maxsize=1024)
def _part_export(spec: ComparisonSpec, test: str, category: str) -> str:
    """A part, so that the file says of it what the page says."""
    part = replace(spec.whole, part_tests=(test,), part_categories=(category,))
    return f"{reverse('compare:export')}?{part.to_query()}"


def _view(context: Context) -> TableView:
    view = context.get("table_view")
    return view if isinstance(view, TableView) else USUAL


def _is_hidden(table: DeltaTable, view: TableView) -> bool:
    return bool(table.rows) and len(hidden_places(table, view)) == len(table.rows)


def _unit(table: DeltaTable, view: TableView) -> str:
    runs = table.runs_of_each
    return "".join(
        [
            _read_unit(table, view) + table.unit_remark,
            ", less is better" if table.lower_is_better else "",
            f", {numbers.counted(runs, 'run')} each" if runs else "",
            f", {table.coverage_of_each} each" if table.coverage_of_each else "",
            "; small: as printed" if table.has_published_values else "",
        ]
    )


def _read_unit(table: DeltaTable, view: TableView) -> str:
    if table.unit == SUM:
        return unit_words(table.unit)
    return table.unit if view.is_exact else table.scale.unit


@register.inclusion_tag("compare/table_tools.html", takes_context=True)
def table_tools(
    context: Context, tables: Iterable[DeltaTable] = (), form: str = ""
) -> dict[str, object]:
    """Controls for rows, columns and digits: fields of ``form``, or a form of their own."""
    view, request = _view(context), context.get("request")
    rest = without_view(request.GET) if request else QueryDict(mutable=True)
    rest.pop("sort", None)
    tables = list(tables)
    return {
        "view": view,
        "form": form or FORM,
        "is_own": not form,
        "here": request.path if request else "",
        "rest": [(name, value) for name, values in rest.lists() for value in values],
        "verdicts": [(slug, label, slug in view.verdicts) for slug, label in VERDICTS.items()],
        "columns": [
            (slug, label, slug in view.columns, slug in view.pinned)
            for slug, label in COLUMNS.items()
        ],
        "selects": [
            (name, words, [(slug, label, slug == chosen) for slug, label in choices.items()])
            for name, words, choices, chosen in (
                *([] if form else [("sort", "Order of rows", SORTS, view.sort)]),
                ("deltas", "Deltas", DELTAS, view.deltas),
                ("numbers", "Numbers", NUMBERS, view.numbers),
            )
        ],
        # Said with a parameter, though an empty one: a permalink opens as it was shared otherwise.
        "everything": f"?{joined(rest.urlencode(), 'least=')}",
        "row_count": sum(len(table.rows) for table in tables),
        "hidden_count": sum(len(hidden_places(table, view)) for table in tables),
    }


@register.filter
def of_sections(sections: Iterable[Section]) -> list[DeltaTable]:
    return [table for section in sections for table in section.tables]


@register.simple_tag(takes_context=True)
def is_left_out(context: Context, row: TestRow) -> bool:
    view = _view(context)
    tables = [table for section in row.groups for table in section.tables if table.rows]
    return bool(tables) and all(_is_hidden(table, view) for table in tables)


@register.simple_tag(takes_context=True)
def line_of_test(context: Context, row: TestRow, baseline: str, has_cpu: bool) -> list[str]:
    """A test in one line. ``has_cpu``: a test of the page has CPU time and elapsed time."""
    view = _view(context)
    line = line_against(headline_tables(row.first.tables)[0], baseline)
    best, other, ratio = line.best, line.other, line.ratio
    names = shown_names(each.contender for each in line.table.rows)
    is_named = other is not None and other.contender != baseline
    name = f"{names[other.contender]} " if other is not None and is_named else ""
    cells = [
        row.first.label,
        uncertainty.names_in_words([names[best] for best in line.best_names]) or "–",
        _amount(line.table, best, view),
        name + _amount(line.table, other, view),
        "–" if ratio is None else uncertainty.signed_percent(ratio),
        uncertainty.interval_of(line.verdict) or ("–" if ratio is None else "none"),
        _verdict_of(line),
        ", ".join(
            dict.fromkeys(
                str(delta_row.runs) for delta_row in (best, other) if delta_row and delta_row.runs
            )
        ),
    ]
    if has_cpu:
        cells[4:4] = _cpu_cells(row, best, other, view)
    return cells


def _verdict_of(line: TestLine) -> str:
    """Of the two that the line is of, and where the best is not so sure against all others."""
    if line.best is None:
        return "not ranked"
    if line.other is None:
        return "nothing to compare it with"
    words = uncertainty.pair_verdict(line.verdict)
    if line.is_undecided_elsewhere and line.best.verdict:
        return f"{words}; {uncertainty.verdict_over_others(line.best.verdict)}"
    return words


def _amount(table: DeltaTable, row: DeltaRow | None, view: TableView) -> str:
    if row is None:
        return "–"
    text = repr(row.score) if view.is_exact else table.scale.amount(row.score, row.half_width)
    return f"{text} {_read_unit(table, view)}"


def _cpu_cells(
    row: TestRow, best: DeltaRow | None, other: DeltaRow | None, view: TableView
) -> list[str]:
    """The CPU time of the best by elapsed time, and of the other."""
    if row.cpu is None:
        return ["", ""]
    table = headline_tables(row.cpu.tables)[0]
    rows = {delta_row.contender: delta_row for delta_row in table.rows}
    return [
        _amount(table, rows.get(delta_row.contender) if delta_row else None, view)
        for delta_row in (best, other)
    ]
