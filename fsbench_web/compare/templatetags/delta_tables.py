"""Delta tables whole: caption, head and rows (``delta_rows``).

Written here and not in templates for the same reason as their rows: a page has fifty of them, and
each asks for three dozen things.
"""

from collections.abc import Iterable
from functools import lru_cache

from django import template
from django.template import Context
from django.template.defaultfilters import pluralize
from django.utils.safestring import SafeString

from fsbench_web.compare.selection import wording
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.templatetags.compare import unit_words
from fsbench_web.compare.templatetags.delta_rows import delta_rows, study_rows
from fsbench_web.compare.templatetags.exports import export_address
from fsbench_web.compare.templatetags.writing import escaped
from fsbench_web.compare.views.study_page import ShownTable, TestGroup, Winner
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories
from fsbench_web.core.units import SUM

DIFFERENT_CELLS = (
    ' <span class="flag" title="The scores of this table are made of different numbers of '
    'data points.">'
    "different data points</span>"
)
_CONTENDER = '<th scope="col" data-sort="contender">Contender</th>'
_SCORE = '<th scope="col" class="num" data-sort="score">Score</th>'
_DELTAS = (
    '<th scope="col" class="num" data-sort="delta" title="(best − x) / best: how much slower than '
    'the best">Delta 1, %</th><th scope="col" class="num" title="(x − best) / x: how much faster '
    'the best is, as a negative number">Delta 2, %</th>'
)
_CELLS = (
    '<th scope="col" class="num folds" data-sort="cells" title="Cells that the score is made of, '
    'of those that its workload has">Cells</th>'
)
_RUNS = '<th scope="col" class="num folds" data-sort="runs">Runs</th>'

register = template.Library()


@register.simple_tag(takes_context=True)
def delta_table(context: Context, table: DeltaTable) -> SafeString:
    """A table of a comparison, of the ``section`` that the page is writing, for its ``spec``."""
    section, spec = context.get("section"), context.get("spec")
    label = escaped(section.label) if section else ""
    category, base = escaped(categories.label(table.category)), table.baseline
    export = export_address(context, table)
    parts = [
        f'<div class="table-wrap is-tall"><table class="table is-dense deltas'
        f'{" has-change" if base else ""}" data-lower="{"1" if table.lower_is_better else ""}">\n',
        f'<caption>{label} · {category} <span class="unit">{_unit(table)}</span>',
        DIFFERENT_CELLS if table.has_different_cells else "",
        *map(_flag, table.common_flags),
        f' <a class="small no-print" href="{escaped(export)}" '
        f'aria-label="Export {label}, {category}">Export</a>'
        if export
        else "",
        f"</caption>\n<thead><tr>{_CONTENDER}{_SCORE}{_DELTAS}",
        _against(escaped(base)) if base else "",
        _CELLS if table.has_coverage else "",
        _RUNS if table.has_runs and not table.runs_of_each else "",
        "</tr></thead>\n<tbody>",
        delta_rows(table, spec if isinstance(spec, ComparisonSpec) else ""),
        "\n</tbody></table></div>\n",
    ]
    return SafeString("".join(parts))  # what is not written here is escaped above


def _unit(table: DeltaTable) -> str:
    """What all scores of the table have in common."""
    runs = table.runs_of_each
    return "".join(
        [
            escaped(unit_words(table.unit) + table.unit_remark),
            ", less is better" if table.lower_is_better else "",
            f", {runs} run{pluralize(runs)} each" if runs else "",
            f", {table.coverage_of_each} each" if table.coverage_of_each else "",
            "; small: as printed" if table.has_published_values else "",
        ]
    )


def _against(base: str) -> str:
    return (
        '<th scope="col" class="num" data-sort="change" title="By how much faster than '
        f'{base}, negative: slower">Against {base}, %</th>'
    )


@lru_cache(maxsize=256)
def _flag(flag: str) -> str:
    return (
        f' <span class="flag" title="{escaped(wording.flag_meaning(flag))}">'
        f"{escaped(wording.flag_label(flag))}</span>"
    )


@register.simple_tag
def study_table(
    group: TestGroup, shown: ShownTable, by: str, has_published_values: bool
) -> SafeString:
    """A table of the page of a study; ``has_published_values``: of any of its tables."""
    table = shown.table
    unit = escaped(numbers.unit_name(table.unit))
    printed = '<th scope="col" class="num">printed</th>'
    tight = " is-tight" if has_published_values else ""
    parts = [
        f'<div class="table-wrap" id="{escaped(shown.anchor)}">\n'
        f'      <table class="table is-dense deltas{tight}">\n'
        f"        <caption>{escaped(group.label)}",
        f" · {escaped(shown.category)}" if table.category != categories.MEAN else "",
        f' <span class="unit">{unit}{escaped(table.unit_remark)}'
        f"{', less is better' if table.lower_is_better else ''}</span>",
        *(_flag(flag) for flag in shown.flags if flag != "published_differs"),
        '</caption>\n        <thead><tr><th scope="col">',
        "File system" if by == "filesystem" else "Configuration",
        f'</th><th scope="col" class="num">{"Score" if table.unit == SUM else unit}',
        '</th><th scope="col" class="num">Delta 1, %</th>',
        printed if has_published_values else "",
        '<th scope="col" class="num">Delta 2, %</th>',
        printed if has_published_values else '<th scope="col" class="num">Runs</th>',
        "</tr></thead>\n        <tbody>",
        study_rows(table, by, has_published_values),
        "\n        </tbody>\n      </table>\n    </div>",
    ]
    return SafeString("".join(parts))  # what is not written here is escaped above


@register.simple_tag
def winner_cells(winners: Iterable[Winner | None]) -> SafeString:
    """The cells of one test in the overview of a study: who is best in each category."""
    # What is not written here is escaped.
    return SafeString("".join([f"<td>{_winner(each)}</td>" for each in winners]))


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
