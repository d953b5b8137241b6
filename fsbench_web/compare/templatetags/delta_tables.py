"""Delta tables, what chooses their rows and columns, and the line of each test."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import urlencode

from django import template
from django.http import QueryDict
from django.template import Context
from django.urls import reverse
from django.utils.safestring import SafeString

from fsbench_web.compare.explanations.contenders import why_address
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection import wording
from fsbench_web.compare.selection.fields import SORTS
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
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.templatetags.compare import unit_words
from fsbench_web.compare.views.rows_of_tests import TestRow
from fsbench_web.compare.views.table_cells import (
    Cell,
    Column,
    Printed,
    contender_column,
    hidden_places,
    in_order,
    page_columns,
    verdict_of,
)
from fsbench_web.core import numbers
from fsbench_web.core.comparison.headlines import TestLine, headline_tables, line_against
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.comparison.score_rows import slug_of
from fsbench_web.core.units import SUM
from fsbench_web.studies.runs.listing import RunAddresses, run_addresses

register = template.Library()
_BEST = ' class="is-best"'
_BADGES = {
    "": "",
    "best": ' <span class="badge is-best">best</span>',
    "top score": ' <span class="badge">top score</span>',
    "tied": ' <span class="badge" title="The same score as another">tied</span>',
}


@register.inclusion_tag("compare/delta_table.html", takes_context=True)
def delta_table(context: Context, table: DeltaTable) -> dict[str, Any]:
    """A table of a comparison, of the ``section`` that the page is writing, for its ``spec``.

    ``table_view`` of the page says which rows and columns are shown, ``table_form`` is the form
    that asks for another order.
    """
    section, spec, view = context.get("section"), context.get("spec"), _view(context)
    columns = page_columns(table, view)
    spec = spec if isinstance(spec, ComparisonSpec) else None
    form = context.get("table_form") or ""
    label = section.label if section else ""
    name = f"{label}, {table.category_label}"
    return {
        "table": table,
        "label": label,
        "anchor": section.anchor_of(table) if section else "",
        "unit": _unit(table, view),
        "is_hidden": _is_hidden(table, view),
        "flags": SafeString("".join(map(_flag, table.common_flags))),
        "export": _caption_link("Export", f"Export {name}", export_address(context, table)),
        "why": _caption_link("Why?", f"Why: {name}", why_address(table)),
        "head": SafeString("".join(_head([contender_column(view), *columns], form))),
        "rows": SafeString("".join(_rows(table, spec, view, columns))),  # escaped there
    }


def _caption_link(word: str, label: str, address: str) -> SafeString:
    """A link in a table's caption; "" without an address."""
    if not address:
        return SafeString()
    return SafeString(
        f'<a class="small no-print" href="{escape(address)}" '
        f'aria-label="{escape(label)}">{word}</a>'
    )


def _head(columns: Sequence[Column], form: str) -> Iterable[str]:
    """The headings as HTML; where there is a ``form``, buttons that ask for another order."""
    for column in columns:
        heading, order = escape(column.heading), ""
        if column.sort and form:
            now = f'aria-sort="{column.order_now}"' if column.order_now else ""
            order = f' data-sort="{column.sort}"\n{now}'
            heading = (
                f'<button type="submit" class="sorter" form="{escape(form)}" name="sort" '
                f'value="{column.order_next}">{heading}</button>'
            )
        classes = f' class="{column.classes}"' if column.classes else ""
        title = f' title="{escape(column.title)}"' if column.title else ""
        yield f'<th scope="col"{classes}{title}{order}>{heading}</th>\n'


def _rows(
    table: DeltaTable, spec: ComparisonSpec | None, view: TableView, columns: Sequence[Column]
) -> Iterable[str]:
    """All rows as HTML; those that the view does not show are there for paper.

    In a template 210 rows take 80 ms more of processor time.
    """
    table = in_order(table, view.sort)
    hidden, has_baseline = hidden_places(table, view), bool(table.baseline)
    has_runs = table.has_runs and not table.runs_of_each
    addresses = run_addresses()
    for place, row in enumerate(table.rows):
        mark = table.mark_of(row)
        folded = [f"{row.coverage} data points"] if table.has_coverage and row.coverage else []
        folded += [numbers.counted(row.runs, "run")] if has_runs and row.runs is not None else []
        parts = [
            f'<tr{_BEST if mark == "best" else ""} data-verdict="{verdict_of(row, has_baseline)}"',
            " hidden>" if place in hidden else ">",
            f'<th scope="row"><span>{_name(row, spec, addresses)}{_BADGES[mark]}</span>',
            _below(row, table.has_several_studies, addresses),
            f'<span class="sub folded">{", ".join(folded)}</span>' if folded else "",
            *(f" {_flag(flag)}" for flag in row.flags if flag not in table.common_flags),
            f'<span class="sub">{escape(row.left_out_words)}</span>' if row.left_out_words else "",
            "</th>",
            *(_cell(column.classes, column.cell(row)) for column in columns),
            "</tr>\n",
        ]
        yield "".join(parts)


def _name(row: DeltaRow, spec: ComparisonSpec | None, addresses: RunAddresses) -> str:
    """The contender; where a comparison can show its configurations, a link to that."""
    if spec is None:
        return escape(row.contender)
    if spec.by == "configuration":
        return _origin(row.contender, row, addresses)
    address = _configurations(row.contender, spec)
    return _link(row.contender, address, "All its configurations")


@lru_cache(maxsize=1024)
def _configurations(contender: str, spec: ComparisonSpec) -> str:
    """The comparison of all configurations of a contender; "" where there is none."""
    narrower = spec.configurations_of(contender)
    return "" if narrower is None else f"{reverse('compare:page')}?{narrower.to_query()}"


def _below(row: DeltaRow, has_several_studies: bool, addresses: RunAddresses) -> str:
    """Under the contender: what it is in full, its configuration with a link, and its study."""
    words, title = [], escape(row.study_title)
    if row.label and slug_of(row.label) != row.contender.split("@")[0]:
        words.append(escape(row.label))
    if row.subline:
        words.append(_origin(row.subline, row, addresses))
    if (row.configurations or 0) > 1:
        words.append(f"best of {row.configurations}")
    if has_several_studies:
        content = ", ".join([*words, f"in {title}"])
        return f'<span class="sub clamp" title="{title}">{content}</span>'
    return f'<span class="sub">{", ".join(words)}</span>' if words else ""


def _origin(text: str, row: DeltaRow, addresses: RunAddresses) -> str:
    """The text with a link to where the row's number comes from: its runs, or the paper."""
    if row.run_ids:
        return _link(text, addresses.of(row.run_ids), "Its runs")
    return _link(text, reverse("studies:study", args=[row.study]), f"From {row.study_title}")


def _link(text: str, address: str, title: str) -> str:
    if not address:
        return escape(text)
    return (
        f'<a class="is-quiet" href="{escape(address)}" title="{escape(title)}">{escape(text)}</a>'
    )


@lru_cache(maxsize=256)
def _flag(flag: str) -> str:
    meaning, label = wording.flag_meaning(flag), wording.flag_label(flag)
    return f'<span class="flag" title="{escape(meaning)}">{escape(label)}</span>'


def _cell(kind: str, cell: Cell) -> str:
    text = escape(cell.text)
    parts = [
        f'<td class="{kind}">' if kind else "<td>",
        f'<span title="{escape(cell.title)}">{text}</span>' if cell.title else text,
        f'<span class="sub">{escape(cell.sub)}</span>' if cell.sub else "",
        "" if cell.printed is None else _printed(cell.printed),
        *(
            f'<details class="why"><summary>{escape(word)}</summary><span>{escape(text)}</span>'
            "</details>"
            for word, text in cell.opens
        ),
        "</td>",
    ]
    return "".join(parts)


def _printed(printed: Printed) -> str:
    value = escape(printed.value)
    if not value:
        return '<span class="sub">not printed</span>'
    if printed.expected:
        sentence = f"The paper printed {value}; its own table gives {escape(printed.expected)}."
        value = f'<span class="differs" title="{sentence}">{value}</span> <span>differs</span>'
    return f'<span class="sub"><span class="said">printed </span>{value}</span>'


def export_address(context: Context, table: DeltaTable) -> str:
    """The export page of this one table, of the page's ``permalink`` or ``spec``; "" of neither."""
    link, spec = context.get("permalink"), context.get("spec")
    if context.get("is_embedded"):
        return ""  # A page in a frame leads nowhere but to the whole of it.
    if isinstance(link, Permalink):
        query = urlencode({"test": table.test, "category": table.category})
        return f"{reverse('compare:permalink_export', args=[link.key])}?{query}"
    if not isinstance(spec, ComparisonSpec):
        return ""
    # A part, so that the file says of it what the page says.
    part = replace(spec.whole, part_tests=(table.test,), part_categories=(table.category,))
    return f"{reverse('compare:export')}?{part.to_query()}"


def _view(context: Context) -> TableView:
    view = context.get("table_view")
    return view if isinstance(view, TableView) else USUAL


def _is_hidden(table: DeltaTable, view: TableView) -> bool:
    """Whether the view shows no row of the table."""
    return bool(table.rows) and len(hidden_places(table, view)) == len(table.rows)


def _unit(table: DeltaTable, view: TableView) -> str:
    """What all scores of the table have in common."""
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
    """The unit that its scores are written in."""
    if table.unit == SUM:
        return unit_words(table.unit)
    return table.unit if view.is_exact else table.scale.unit


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


@register.simple_tag(takes_context=True)
def is_left_out(context: Context, row: TestRow) -> bool:
    """Whether the view shows nothing of the tables of a test."""
    view = _view(context)
    tables = [table for section in row.groups for table in section.tables if table.rows]
    return bool(tables) and all(_is_hidden(table, view) for table in tables)


@register.simple_tag(takes_context=True)
def line_of_test(context: Context, row: TestRow, baseline: str, has_cpu: bool) -> list[str]:
    """A test in one line: best, its score, that of the baseline, how far apart, verdict and n.

    Where the baseline is the best, the next one is beside it, by name. ``has_cpu``: a test of the
    page has the CPU time of the same work, which is beside its own.
    """
    view = _view(context)
    line = line_against(headline_tables(row.first.tables)[0], baseline)
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
    """The CPU time of whoever is the best by elapsed time, and of the one beside it."""
    if row.cpu is None:
        return ["", ""]
    table = headline_tables(row.cpu.tables)[0]
    rows = {delta_row.contender: delta_row for delta_row in table.rows}
    return [
        _amount(table, rows.get(delta_row.contender) if delta_row else None, view)
        for delta_row in (best, other)
    ]
