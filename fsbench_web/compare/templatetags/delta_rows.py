"""The rows of delta tables.

They are written here and not in templates: a page has hundreds of rows, and asking a template for
each of their cells took most of the time of the page, and then ``format_html`` most of what was
left. So texts are put together as they are, and every one that is not written here is escaped by
``escaped``.
"""

from collections.abc import Callable
from functools import lru_cache

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fsbench_web.compare.selection import links, wording
from fsbench_web.compare.selection.properties import slug_of
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.selection.table_view import (
    DIFFERENT,
    EQUIVALENT,
    INCONCLUSIVE,
    NOT_KNOWN,
    USUAL,
    TableView,
)
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.shown_rows import REFERENCE, hidden_places, verdict_of
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.templatetags.delta_columns import columns_of, standing
from fsbench_web.compare.templatetags.writing import escaped
from fsbench_web.core import numbers
from fsbench_web.studies.runs.listing import RunAddresses, run_addresses

BADGES = {
    "": "",
    "best": ' <span class="badge is-best">best</span>',
    "leading": ' <span class="badge">leading</span>',
    "tied": ' <span class="badge" title="The same score as another">tied</span>',
}
"""*Best* belongs to a verdict."""

register = template.Library()


@register.simple_tag
def delta_rows(
    table: DeltaTable, spec: ComparisonSpec | str = "", view: TableView = USUAL
) -> SafeString:
    """The rows of a comparison's table; ``spec`` is empty where it is not known."""
    common = table.common_flags
    has_coverage, has_several_studies = table.has_coverage, table.has_several_studies
    has_runs = table.has_runs and not table.runs_of_each
    addresses = run_addresses()

    def name(row: DeltaRow) -> str:
        left_out = row.left_out_words
        return "".join(
            [
                f"<span>{_name(row, spec, addresses)}{BADGES[table.mark_of(row)]}</span>",
                _subline(row, has_several_studies, addresses),
                _folded_words(row, has_coverage, has_runs),
                _flags(row, common),
                f'<span class="sub">{escaped(left_out)}</span>' if left_out else "",
            ]
        )

    return _rows(table, view, name)


@register.simple_tag
def study_rows(table: DeltaTable, by: str, view: TableView = USUAL) -> SafeString:
    """The rows of a table on the page of a study that was measured."""
    common = table.common_flags

    def name(row: DeltaRow) -> str:
        is_more = row.configuration and row.configuration != row.contender and by == "filesystem"
        return "".join(
            [
                f"{escaped(row.contender)}{BADGES[table.mark_of(row)]}",
                f'<span class="sub">{escaped(row.configuration)}</span>' if is_more else "",
                _flags(row, common),
            ]
        )

    return _rows(table, view, name)


def _rows(table: DeltaTable, view: TableView, name: Callable[[DeltaRow], str]) -> SafeString:
    """All rows; those that the view does not show are there for paper and for the browser."""
    columns = [(f"<td{column.attributes}>", column.cell) for column in columns_of(table, view)]
    hidden, has_baseline = hidden_places(table, view), bool(table.baseline)
    lines = []
    for place, row in enumerate(table.rows):
        cells = [
            f"<tr{_class(table, row)}{_sortable(row)}{_verdict_attribute(row, has_baseline)}",
            " hidden>" if place in hidden else ">",
            f'<th scope="row">{name(row)}</th>',
            *(f"{begin}{cell(row)}</td>" for begin, cell in columns),
            "</tr>\n",
        ]
        lines.append("".join(cells))
    return SafeString("".join(lines))  # each part of it is escaped where it is written


@register.simple_tag
def paper_rows(table: DeltaTable, by: str, view: TableView = USUAL) -> SafeString:
    """The rows of a table on the page of a study that printed something beside its scores."""
    common = table.common_flags
    hidden, least = hidden_places(table, view), table.least_decimals
    has_standing = uncertainty.has_standing(table)
    lines = []
    for place, row in enumerate(table.rows):
        text = standing(uncertainty.verdict_words(row), row.verdict) if has_standing else ""
        is_more = row.configuration and row.configuration != row.contender and by == "filesystem"
        score = repr(row.score) if view.is_exact else numbers.amount(row.score, table.unit, least)
        lines += [
            f"<tr{_class(table, row)}{' hidden' if place in hidden else ''}>",
            f'<th scope="row">{escaped(row.contender)}{BADGES[table.mark_of(row)]}',
            f" {text}" if text else "",
            f'<span class="sub">{escaped(row.configuration)}</span>' if is_more else "",
            _flags(row, (*common, "published_differs")),
            f"</th><td>{score}</td>",
            f"<td>{numbers.percent(row.delta1_percent)}</td>",
            _print_of(row, "delta1_percent"),
            f"<td>{numbers.percent(row.delta2_percent)}</td>",
            _print_of(row, "delta2_percent"),
            "</tr>\n",
        ]
    return SafeString("".join(lines))  # each part of it is escaped above


def _class(table: DeltaTable, row: DeltaRow) -> str:
    return ' class="is-best"' if table.mark_of(row) == "best" else ""


@lru_cache(maxsize=256)
def _flag(flag: str) -> str:
    return format_html(
        ' <span class="flag" title="{}">{}</span>',
        wording.flag_meaning(flag),
        wording.flag_label(flag),
    )


def _flags(row: DeltaRow, common: tuple[str, ...]) -> str:
    return "".join(_flag(flag) for flag in row.flags if flag not in common)


def _print_of(row: DeltaRow, name: str) -> str:
    """A column of what was printed; what does not follow is marked in words."""
    value = None if row.published is None else getattr(row.published, name)
    if row.published is None or value is None:
        return f'<td class="muted">{numbers.MISSING}</td>'
    if name in row.published.differs:
        return (
            f'<td class="muted"><span class="differs">{escaped(value)}</span> '
            '<span class="flag">differs</span></td>'
        )
    return f'<td class="muted">{escaped(value)}</td>'


@lru_cache(maxsize=1024)
def _configurations(contender: str, spec: ComparisonSpec) -> str:
    """The comparison of all configurations of a contender; "" where there is none."""
    narrower = links.configurations_of(contender, spec)
    return "" if narrower is None else f"{reverse('compare:page')}?{narrower.to_query()}"


_LETTERS = {REFERENCE: "r", DIFFERENT: "d", EQUIVALENT: "e", INCONCLUSIVE: "i", NOT_KNOWN: ""}


def _verdict_attribute(row: DeltaRow, has_baseline: bool) -> str:
    """What is known of it against the row that the table is read by; nothing of most."""
    letter = _LETTERS[verdict_of(row, has_baseline)]
    return f' data-v="{letter}"' if letter else ""


def _sortable(row: DeltaRow) -> str:
    """Attributes by which the browser sorts rows; what is missing has none."""
    change = "" if row.change_percent is None else f' data-change="{row.change_percent!r}"'
    return f' data-score="{row.score!r}"{change}'


def _name(row: DeltaRow, spec: ComparisonSpec | str, addresses: RunAddresses) -> str:
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
