"""The rows of delta tables.

They are written here and not in templates: a page has hundreds of rows, and asking a template for
each of their cells took most of the time of the page, and then ``format_html`` most of what was
left. So texts are put together as they are, and every one that is not written here is escaped by
``escaped``.
"""

from functools import lru_cache

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fsbench_web.compare.selection import links, wording
from fsbench_web.compare.selection.properties import slug_of
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.selection.wording import change_words
from fsbench_web.compare.tables import uncertainty
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.templatetags.writing import escaped
from fsbench_web.core import numbers
from fsbench_web.core.scoring.significance import Verdict
from fsbench_web.studies.runs.listing import address_of

BADGES = {
    "": "",
    "best": ' <span class="badge is-best">best</span>',
    "leading": ' <span class="badge">leading</span>',
}
"""*Best* belongs to a verdict."""
NOT_PRINTED = '<span class="sub">not printed</span>'
NOT_STATED = '<span class="muted" title="Not stated">–</span>'

register = template.Library()


@register.simple_tag
def delta_rows(table: DeltaTable, spec: ComparisonSpec | str) -> SafeString:
    """The rows of a comparison's table; ``spec`` is empty where it is not known."""
    common = table.common_flags
    least = table.least_decimals
    has_published_values, has_standing, base = (
        table.has_published_values,
        uncertainty.has_standing(table),
        table.baseline,
    )
    has_sure_changes = uncertainty.has_change_standing(table)
    has_coverage, has_several_studies = table.has_coverage, table.has_several_studies
    has_runs = table.has_runs and not table.runs_of_each
    lines = []
    for row in table.rows:
        cells = [
            f"<tr{_class(row)}{_numbers(row)}>",
            f'<th scope="row"><span>{_name(row, spec)}{BADGES[row.mark]}</span>',
            _under(row, has_several_studies),
            _folded(row, has_coverage, has_runs),
            _flags(row, common),
            f'<span class="sub">{escaped(row.left_out_words)}</span>' if row.left_out_words else "",
            f'</th><td class="num">{_score(table, row, least)}</td>',
            f'<td class="num">{numbers.percent(row.delta1_percent)}',
            _printed(row, "delta1_percent") if has_published_values else "",
            _standing(uncertainty.standing(row), row.verdict) if has_standing else "",
            f'</td><td class="num">{numbers.percent(row.delta2_percent)}',
            _printed(row, "delta2_percent") if has_published_values else "",
            "</td>",
        ]
        if base:
            word = change_words(row.change_percent, row.is_baseline)
            sure = (
                _standing(uncertainty.change_standing(row), row.change_verdict)
                if has_sure_changes
                else ""
            )
            cells.append(
                f'<td class="num">{_signed_change(row)}<span class="sub">{word}</span>{sure}</td>'
            )
        if has_coverage:
            cells.append(f'<td class="num folds">{escaped(row.coverage or numbers.MISSING)}</td>')
        if has_runs:
            runs = numbers.MISSING if row.runs is None else row.runs
            cells.append(f'<td class="num folds">{runs}</td>')
        lines.append("".join([*cells, "</tr>"]))
    return SafeString("\n".join(lines))  # each part of it is escaped above


@register.simple_tag
def study_rows(table: DeltaTable, by: str, has_published_values: bool) -> SafeString:
    """The rows of a table on the page of a study; ``has_published_values``: of any of
    its tables.
    """
    common = table.common_flags
    least = table.least_decimals
    has_standing = uncertainty.has_standing(table)
    lines = []
    for row in table.rows:
        standing = _standing(uncertainty.standing(row), row.verdict) if has_standing else ""
        is_more = row.configuration and row.configuration != row.contender and by == "filesystem"
        lines += [
            f'<tr{_class(row)}><th scope="row">{escaped(row.contender)}{BADGES[row.mark]}',
            f" {standing}" if standing else "",
            f'<span class="sub">{escaped(row.configuration)}</span>' if is_more else "",
            _flags(row, (*common, "published_differs")),
            f'</th><td class="num">{_score(table, row, least)}</td>',
            f'<td class="num">{numbers.percent(row.delta1_percent)}</td>',
            _print_of(row, "delta1_percent") if has_published_values else "",
            f'<td class="num">{numbers.percent(row.delta2_percent)}</td>',
            _print_of(row, "delta2_percent")
            if has_published_values
            else f'<td class="num">{NOT_STATED if row.runs is None else row.runs}</td>',
            "</tr>\n",
        ]
    return SafeString("".join(lines))  # each part of it is escaped above


def _class(row: DeltaRow) -> str:
    return ' class="is-best"' if row.mark == "best" else ""


def _score(table: DeltaTable, row: DeltaRow, least: int) -> str:
    """A score without its unit, and under it its interval: around what and of what on demand."""
    unit = table.unit
    score = numbers.amount(row.score, unit, least)
    if row.printed_unit is not None:
        score = f'<span title="Printed: {escaped(row.printed_words)}">{score}</span>'
    if row.interval is None:
        return score
    short = uncertainty.half_width(row.interval, unit)
    of = " of samples" if row.interval.of == uncertainty.SAMPLES else ""
    sentence = uncertainty.interval_sentence(row.interval, unit, table.harmonic_mean_of(row))
    return score + _details(f"{short}{of}", sentence)


def _standing(words: str, verdict: Verdict | None) -> str:
    """Whether the best is ahead of the row by more than chance (of the best: of all), and why."""
    return _details(words, uncertainty.why(verdict) if verdict else "") if words else ""


def _details(summary: str, text: str) -> str:
    return (
        f'<details class="why"><summary>{escaped(summary)}</summary>'
        f"<span>{escaped(text)}</span></details>"
    )


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
        return f'<td class="num muted">{numbers.MISSING}</td>'
    if name in row.published.differs:
        return (
            f'<td class="num muted"><span class="differs">{escaped(value)}</span> '
            '<span class="flag">differs</span></td>'
        )
    return f'<td class="num muted">{escaped(value)}</td>'


@lru_cache(maxsize=1024)
def _configurations(contender: str, spec: ComparisonSpec) -> str:
    """The comparison of all configurations of a contender; "" where there is none."""
    narrower = links.configurations_of(contender, spec)
    return "" if narrower is None else f"{reverse('compare:page')}?{narrower.to_query()}"


def _printed(row: DeltaRow, name: str) -> str:
    """Under a delta what was printed for it, marked in words where it does not follow."""
    published = row.published
    value = None if published is None else getattr(published, name)
    if published is None or value is None:
        return NOT_PRINTED
    said = '<span class="sub"><span class="said">printed </span>'
    if name not in published.differs:
        return f"{said}{escaped(str(value))}</span>"
    expected = published.expected1 if name == "delta1_percent" else published.expected2
    why = f"The paper printed {value}; its own table gives {numbers.percent(expected)}."
    return (
        f'{said}<span class="differs" title="{escaped(why)}">{escaped(str(value))}</span> '
        "<span>differs</span></span>"
    )


def _numbers(row: DeltaRow) -> str:
    """Attributes by which the browser sorts rows; what is missing has none."""
    numbers_of = (
        ("score", row.score),
        ("change", row.change_percent),
        ("cells", row.cells),
        ("runs", row.runs),
    )
    return "".join([f' data-{name}="{value!r}"' for name, value in numbers_of if value is not None])


def _name(row: DeltaRow, spec: ComparisonSpec | str) -> str:
    """The contender; where a comparison can show its configurations, a link to that."""
    name = escaped(row.contender)
    if isinstance(spec, ComparisonSpec):
        address = _configurations(row.contender, spec)
        if address:
            return (
                f'<a class="is-quiet" href="{escaped(address)}" title="All its configurations">'
                f"{name}</a>"
            )
        if spec.by == "configuration":
            return _link(*_origin(row), name)
    return name


def _under(row: DeltaRow, has_several_studies: bool) -> str:
    """Under the contender: what it is in full, its configuration with a link, and its study."""
    words = []
    if row.label and slug_of(row.label) != row.contender.split("@")[0]:
        words.append(escaped(row.label))
    if row.subline:
        words.append(_link(*_origin(row), escaped(row.subline)))
    if (row.configurations or 0) > 1:
        words.append(f"best of {row.configurations}")
    if has_several_studies:
        words.append(f"in {escaped(row.study_title)}")
    if not words:
        return ""
    inside = ", ".join(words)
    if has_several_studies:
        return f'<span class="sub clamp" title="{escaped(row.study_title)}">{inside}</span>'
    return f'<span class="sub">{inside}</span>'


def _folded(row: DeltaRow, has_coverage: bool, has_runs: bool) -> str:
    """Cells and runs once more, for screens with no room for columns of them."""
    words = []
    if has_coverage and row.coverage:
        words.append(f"{row.coverage} data points")
    if has_runs and row.runs is not None:
        words.append(f"{row.runs} run{'' if row.runs == 1 else 's'}")
    return f'<span class="sub folded">{", ".join(words)}</span>' if words else ""


def _link(address: str, title: str, inside: str) -> str:
    """``inside`` is escaped already."""
    return f'<a class="is-quiet" href="{escaped(address)}" title="{escaped(title)}">{inside}</a>'


def _origin(row: DeltaRow) -> tuple[str, str]:
    """Address and words of where a row's number comes from: its runs, or the paper."""
    if row.run_ids:
        return address_of(row.run_ids), "Its runs"
    return reverse("studies:study", args=[row.study]), f"From {row.study_title}"


def _signed_change(row: DeltaRow) -> str:
    """A change in percent with its sign, also where it is positive."""
    text = numbers.percent(row.change_percent)
    return f"+{text}" if (row.change_percent or 0) > 0 else text
