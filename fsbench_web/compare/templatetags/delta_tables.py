"""Delta tables: caption, head and rows, and the line of each test.

They are written here and not in templates: a page has hundreds of rows, and asking a template for
each of their cells took most of the time of the page, and then ``format_html`` most of what was
left. So texts are put together as they are, and every one that is not written here is escaped by
``escaped``.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from django import template
from django.http import QueryDict
from django.template import Context
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.safestring import SafeString

from fsbench_web.compare.explanations.address import why_address
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection import links, wording
from fsbench_web.compare.selection.properties import slug_of
from fsbench_web.compare.selection.settings import SORTS
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
from fsbench_web.compare.tables.headlines import headline_tables
from fsbench_web.compare.tables.lines_of_tests import TestLine
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.shown_rows import hidden_places, in_order, verdict_of
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.templatetags.compare import unit_words
from fsbench_web.compare.templatetags.delta_columns import CONTENDER, Column, page_columns
from fsbench_web.compare.templatetags.exports import export_address
from fsbench_web.compare.templatetags.writing import attribute, escaped
from fsbench_web.compare.views.rows_of_tests import TestRow
from fsbench_web.compare.views.study_page import Winner
from fsbench_web.compare.views.study_tabs import line_of
from fsbench_web.core import numbers
from fsbench_web.core.units import SUM
from fsbench_web.studies.runs.listing import RunAddresses, run_addresses

DIFFERENT_CELLS = (
    ' <span class="flag" title="The scores of this table are made of different numbers of '
    'data points.">'
    "different data points</span>"
)

BADGES = {
    "": "",
    "best": ' <span class="badge is-best">best</span>',
    "leading": ' <span class="badge">leading</span>',
    "tied": ' <span class="badge" title="The same score as another">tied</span>',
}
"""*Best* belongs to a verdict."""
_BEST = ' class="is-best"'

register = template.Library()


@register.simple_tag(takes_context=True)
def delta_table(context: Context, table: DeltaTable) -> SafeString:
    """A table of a comparison, of the ``section`` that the page is writing, for its ``spec``.

    ``table_view`` of the page says which rows and columns are shown, ``table_form`` is the form
    that asks for another order.
    """
    section, spec, view = context.get("section"), context.get("spec"), _view(context)
    form = escaped(context.get("table_form") or "")
    label = escaped(section.label) if section else ""
    anchor = section.anchor_of(table) if section else ""
    category, export = escaped(table.category_label), export_address(context, table)
    columns = page_columns(table, view)
    heads = [CONTENDER, *columns]
    parts = [
        f'<div class="table-wrap is-tall"{attribute("id", anchor)}',
        f'{_hidden(table, view)}><table class="table is-dense deltas'
        f'{" has-change" if table.baseline else ""}">\n',
        f'<caption>{label} · {category} <span class="unit">{_unit(table, view)}</span>',
        DIFFERENT_CELLS if table.has_different_cells else "",
        *map(_flag, table.common_flags),
        f' <a class="small no-print" href="{escaped(export)}" '
        f'aria-label="Export {label}, {category}">Export</a>'
        if export
        else "",
        _why_link(table, label, category),
        "</caption>\n<thead><tr>",
        *(column.head(view, form) for column in heads),
        "</tr></thead>\n<tbody>",
        *_rows(in_order(table, view.sort), spec, view, columns),
        "</tbody></table></div>\n",
    ]
    return SafeString("".join(parts))  # what is not written here is escaped above


def _rows(
    table: DeltaTable, spec: object, view: TableView, columns: Sequence[Column]
) -> Iterable[str]:
    """All rows; those that the view does not show are there for paper."""
    cells = [(f"<td{column.attributes}>", column.cell) for column in columns]
    hidden, has_baseline = hidden_places(table, view), bool(table.baseline)
    common, has_runs = table.common_flags, table.has_runs and not table.runs_of_each
    addresses = run_addresses()
    for place, row in enumerate(table.rows):
        mark, left_out = table.mark_of(row), row.left_out_words
        yield (
            f"<tr{_BEST if mark == 'best' else ''} "
            f'data-verdict="{verdict_of(row, has_baseline)}"'
            f"{' hidden' if place in hidden else ''}>"
            f'<th scope="row"><span>{_name(row, spec, addresses)}{BADGES[mark]}</span>'
            f"{_subline(row, table.has_several_studies, addresses)}"
            f"{_folded_words(row, table.has_coverage, has_runs)}"
            f"{''.join(_flag(flag) for flag in row.flags if flag not in common)}"
        )
        yield f'<span class="sub">{escaped(left_out)}</span></th>' if left_out else "</th>"
        yield from (f"{begin}{cell(row)}</td>" for begin, cell in cells)
        yield "</tr>\n"


@lru_cache(maxsize=1024)
def _configurations(contender: str, spec: ComparisonSpec) -> str:
    """The comparison of all configurations of a contender; "" where there is none."""
    narrower = links.configurations_of(contender, spec)
    return "" if narrower is None else f"{reverse('compare:page')}?{narrower.to_query()}"


def _name(row: DeltaRow, spec: object, addresses: RunAddresses) -> str:
    """The contender; where a comparison can show its configurations, a link to that."""
    name = escaped(row.contender)
    if not isinstance(spec, ComparisonSpec):
        return name
    if spec.by == "configuration":
        return _link(*_origin(row, addresses), name)
    address = _configurations(row.contender, spec)
    if address:
        return (
            f'<a class="is-quiet" href="{escaped(address)}" title="All its configurations">'
            f"{name}</a>"
        )
    return name


def _subline(row: DeltaRow, has_several_studies: bool, addresses: RunAddresses) -> str:
    """Under the contender: what it is in full, its configuration with a link, and its study."""
    words = []
    if row.label and slug_of(row.label) != row.contender.split("@")[0]:
        words.append(escaped(row.label))
    if row.subline:
        words.append(_link(*_origin(row, addresses), escaped(row.subline)))
    if (row.configurations or 0) > 1:
        words.append(f"best of {row.configurations}")
    if has_several_studies:
        words.append(f"in {escaped(row.study_title)}")
    if not words:
        return ""
    content = ", ".join(words)
    if has_several_studies:
        return f'<span class="sub clamp" title="{escaped(row.study_title)}">{content}</span>'
    return f'<span class="sub">{content}</span>'


def _folded_words(row: DeltaRow, has_coverage: bool, has_runs: bool) -> str:
    """Cells and runs once more, for screens with no room for columns of them."""
    words = []
    if has_coverage and row.coverage:
        words.append(f"{row.coverage} data points")
    if has_runs and row.runs is not None:
        words.append(f"{row.runs} run{'' if row.runs == 1 else 's'}")
    return f'<span class="sub folded">{", ".join(words)}</span>' if words else ""


def _link(address: str, title: str, content: str) -> str:
    """``content`` is escaped already."""
    return f'<a class="is-quiet" href="{escaped(address)}" title="{escaped(title)}">{content}</a>'


def _origin(row: DeltaRow, addresses: RunAddresses) -> tuple[str, str]:
    """Address and words of where a row's number comes from: its runs, or the paper."""
    if row.run_ids:
        return addresses.of(row.run_ids), "Its runs"
    return reverse("studies:study", args=[row.study]), f"From {row.study_title}"


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
    tables = [table for section in row.groups for table in section.tables if table.rows]
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
    line = line_of(row.first.tables, baseline)
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
    table = headline_tables(row.cpu.tables)[0]
    rows = {delta_row.contender: delta_row for delta_row in table.rows}
    return [
        _amount(table, rows.get(delta_row.contender) if delta_row else None, view)
        for delta_row in (best, other)
    ]
