"""Delta tables whole: caption, head and rows (``delta_rows``).

Written here and not in templates for the same reason as their rows: a page has fifty of them, and
each asks for three dozen things.
"""

from collections.abc import Iterable
from functools import lru_cache

from django import template
from django.http import QueryDict
from django.template import Context
from django.template.defaultfilters import pluralize
from django.utils.safestring import SafeString

from fsbench_web.compare.explanations.address import why_address
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection import wording
from fsbench_web.compare.selection.settings import SORTS
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.selection.table_view import (
    COLUMNS,
    DELTAS,
    NUMBERS,
    USUAL,
    VERDICTS,
    TableView,
    joined,
    without_view,
)
from fsbench_web.compare.tables.headlines import headline_tables
from fsbench_web.compare.tables.lines_of_tests import TestLine
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.shown_rows import hidden_places, in_order, worth_percent
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.templatetags.compare import unit_words
from fsbench_web.compare.templatetags.delta_columns import columns_of
from fsbench_web.compare.templatetags.delta_rows import delta_rows, paper_rows, study_rows
from fsbench_web.compare.templatetags.exports import export_address
from fsbench_web.compare.templatetags.writing import escaped
from fsbench_web.compare.views.groups_of_tests import ShownTable, TestGroup, Winner
from fsbench_web.compare.views.rows_of_tests import TestRow, tables_of
from fsbench_web.compare.views.study_tabs import line_of
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories
from fsbench_web.core.scoring.blocks.paired import EQUIVALENCE_PERCENT
from fsbench_web.core.units import SUM

DIFFERENT_CELLS = (
    ' <span class="flag" title="The scores of this table are made of different numbers of '
    'data points.">'
    "different data points</span>"
)
_CONTENDER = '<th scope="col" data-sort="contender">Contender</th>'

register = template.Library()


@register.simple_tag(takes_context=True)
def delta_table(context: Context, table: DeltaTable) -> SafeString:
    """A table of a comparison, of the ``section`` that the page is writing, for its ``spec``.

    ``table_view`` of the page says which rows and columns are shown.
    """
    section, spec, view = context.get("section"), context.get("spec"), _view(context)
    label = escaped(section.label) if section else ""
    category = escaped(table.category_label)
    export = export_address(context, table)
    parts = [
        f'<div class="table-wrap is-tall"{_hidden(table, view)}><table class="table is-dense deltas'
        f'{" has-change" if table.baseline else ""}"{_facts(table)}>\n',
        f'<caption>{label} · {category} <span class="unit">{_unit(table, view)}</span>',
        DIFFERENT_CELLS if table.has_different_cells else "",
        *map(_flag, table.common_flags),
        f' <a class="small no-print" href="{escaped(export)}" '
        f'aria-label="Export {label}, {category}">Export</a>'
        if export
        else "",
        _why_link(table, label, category),
        f"</caption>\n<thead><tr>{_CONTENDER}",
        *(column.head for column in columns_of(table, view)),
        "</tr></thead>\n<tbody>",
        delta_rows(table, spec if isinstance(spec, ComparisonSpec) else "", view),
        "</tbody></table></div>\n",
    ]
    return SafeString("".join(parts))  # what is not written here is escaped above


def _why_link(table: DeltaTable, label: str, category: str) -> str:
    """The way to what differs between its rows; the two texts are HTML already."""
    address = why_address(table)
    if not address:
        return ""
    return (
        f' <a class="small no-print" href="{escaped(address)}" '
        f'aria-label="Why: {label}, {category}">Why?</a>'
    )


def _view(context: Context) -> TableView:
    view = context.get("table_view")
    return view if isinstance(view, TableView) else USUAL


def _facts(table: DeltaTable) -> str:
    """What the browser must know to sort and to filter."""
    rows = (row for row in table.rows if row.verdict or row.change_verdict)
    worth = next((worth_percent(row, bool(table.baseline)) for row in rows), None)
    return (' data-lower="1"' if table.lower_is_better else "") + (
        f' data-worth="{worth:g}"' if worth not in (None, EQUIVALENCE_PERCENT) else ""
    )


def _hidden(table: DeltaTable, view: TableView) -> str:
    return " hidden" if table.rows and len(hidden_places(table, view)) == len(table.rows) else ""


def _unit(table: DeltaTable, view: TableView) -> str:
    """What all scores of the table have in common."""
    runs = table.runs_of_each
    return "".join(
        [
            escaped(_read_unit(table, view) + table.unit_remark),
            ", less is better" if table.lower_is_better else "",
            f", {runs} run{pluralize(runs)} each" if runs else "",
            f", {table.coverage_of_each} each" if table.coverage_of_each else "",
            "; small: as printed" if table.has_published_values else "",
        ]
    )


def _read_unit(table: DeltaTable, view: TableView) -> str:
    """The unit that its scores are written in."""
    if view.is_exact:
        return unit_words(table.unit) if table.unit == SUM else table.unit
    return unit_words(table.unit) if table.unit == SUM else table.scale.unit


@lru_cache(maxsize=256)
def _flag(flag: str) -> str:
    return (
        f' <span class="flag" title="{escaped(wording.flag_meaning(flag))}">'
        f"{escaped(wording.flag_label(flag))}</span>"
    )


@register.simple_tag(takes_context=True)
def study_table(
    context: Context, group: TestGroup, shown_table: ShownTable, by: str, has_published_values: bool
) -> SafeString:
    """A table of the page of a study; ``has_published_values``: of any of its tables."""
    view = _view(context)
    table = in_order(shown_table.table, view.sort)
    unit = escaped(_read_unit(table, view) if table.unit != SUM else numbers.unit_name(SUM))
    runs = table.runs_of_each
    contender = "File system" if by == "filesystem" else "Configuration"
    parts = [
        f'<div class="table-wrap" id="{escaped(shown_table.anchor)}"{_hidden(table, view)}>\n'
        f'<table class="table is-dense deltas{" is-tight" if has_published_values else ""}"'
        f"{_facts(table)}>\n<caption>{escaped(group.label)}",
        f" · {escaped(shown_table.category)}" if table.category != categories.MEAN else "",
        f' <span class="unit">{unit}{escaped(table.unit_remark)}'
        f"{', less is better' if table.lower_is_better else ''}",
        f", {runs} run{pluralize(runs)} each" if runs and not has_published_values else "",
        "</span>",
        *(_flag(flag) for flag in shown_table.flags if flag != "published_differs"),
        _why_link(table, escaped(group.label), escaped(shown_table.category)),
        f'</caption>\n<thead><tr><th scope="col" data-sort="contender">{contender}</th>',
        *(
            _paper_head("Score" if table.unit == SUM else unit)
            if has_published_values
            else (column.head for column in columns_of(table, view))
        ),
        "</tr></thead>\n<tbody>",
        paper_rows(table, by, view) if has_published_values else study_rows(table, by, view),
        "</tbody></table></div>",
    ]
    return SafeString("".join(parts))  # what is not written here is escaped above


def _paper_head(unit: str) -> tuple[str, ...]:
    """The headings of a table of the paper: what follows from its scores, and what it printed."""
    printed = '<th scope="col" class="num">printed</th>'
    return (
        f'<th scope="col" class="num" data-sort="score">{unit}</th>',
        f'<th scope="col" class="num" data-sort="delta">Delta 1, %</th>{printed}',
        f'<th scope="col" class="num">Delta 2, %</th>{printed}',
    )


@register.inclusion_tag("compare/table_tools.html", takes_context=True)
def table_tools(
    context: Context, tables: Iterable[DeltaTable] = (), form: str = ""
) -> dict[str, object]:
    """What chooses rows, columns and digits of the tables of a page.

    ``form`` is the id of a form of the page whose fields these are as well; without one they are
    a form, which keeps whatever else the address says.
    """
    view, request = _view(context), context.get("request")
    rest = without_view(request.GET) if request else QueryDict(mutable=True)
    rest.pop("sort", None)
    tables = list(tables)
    return {
        "view": view,
        "form": form or "table-view",
        "is_own": not form,
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
def of_groups(groups: Iterable[TestGroup]) -> list[DeltaTable]:
    """All tables of the page of a study."""
    return [shown_table.table for group in groups for shown_table in group.tables]


@register.filter
def of_sections(sections: Iterable[Section]) -> list[DeltaTable]:
    """All tables of a comparison."""
    return [table for section in sections for table in section.tables]


@register.simple_tag
def winner_cells(winners: Iterable[Winner | None]) -> SafeString:
    """The cells of one test in the overview of a study: who is best in each category."""
    # What is not written here is escaped.
    return SafeString("".join([f"<td>{_winner(winner)}</td>" for winner in winners]))


def _winner(winner: Winner | None) -> str:
    if winner is None:
        return '<span class="muted">–</span>'
    if not winner.names:
        return f'<a href="#{escaped(winner.anchor)}">not ranked</a>'
    parts = [
        f'<a href="#{escaped(winner.anchor)}">',
        f'<span class="dot is-series-{winner.series}" aria-hidden="true"></span>'
        if winner.series
        else "",
        f'<span class="winner">{", ".join(map(escaped, winner.names))}</span>',
    ]
    if winner.margin_percent is not None:
        parts.append(f' <span class="unit">+{numbers.percent(winner.margin_percent)}%</span>')
    elif len(winner.names) > 1:
        parts.append(' <span class="unit">tie</span>')
    if winner.standing:
        parts.append(f' <span class="unit standing">{escaped(winner.standing)}</span>')
    return "".join([*parts, "</a>"])


@register.simple_tag(takes_context=True)
def left_out(context: Context, row: TestRow) -> str:
    """How a test is hidden of whose tables the view shows nothing; "" where it shows any."""
    view = _view(context)
    tables = [table for group in row.groups for table in tables_of(group) if table.rows]
    return (
        "hidden data-left-out" if tables and all(_hidden(table, view) for table in tables) else ""
    )


@register.simple_tag(takes_context=True)
def line_of_test(context: Context, row: TestRow, baseline: str, has_cpu: bool) -> SafeString:
    """A test in one line: best, its score, that of the baseline, how far apart, verdict and n.

    Where the baseline is the best, the next one is beside it, by name. ``has_cpu``: a test of the
    page has the CPU time of the same work, which is beside its own.
    """
    view = _view(context)
    line = line_of(tables_of(row.first), baseline)
    best, other, ratio = line.best, line.other, line.ratio
    name = f"{other.contender} " if other is not None and other.contender != baseline else ""
    cells = [
        row.first.label,
        uncertainty.names_in_words(line.best_names) or "–",
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
    return SafeString(
        f'<span class="test-line{" has-cpu" if has_cpu else ""}">'
        + "".join(f"<span>{escaped(cell)}</span>" for cell in cells)
        + "</span>"
    )


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
    """The CPU time of whoever is the best by elapsed time, and of the one beside it."""
    if row.cpu is None:
        return ["", ""]
    table = headline_tables(tables_of(row.cpu))[0]
    rows = {delta_row.contender: delta_row for delta_row in table.rows}
    return [
        _amount(table, rows.get(delta_row.contender) if delta_row else None, view)
        for delta_row in (best, other)
    ]
