"""What only comparisons write into pages."""

from collections.abc import Iterable
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from fsbench_web.compare import links, wording
from fsbench_web.compare.differences import Difference
from fsbench_web.compare.properties import slug_of
from fsbench_web.compare.rows import DeltaRow, DeltaTable
from fsbench_web.compare.sections import Section
from fsbench_web.compare.spec import ComparisonSpec
from fsbench_web.figures import numbers
from fsbench_web.scoring import categories
from fsbench_web.scoring.significance import UNKNOWN
from fsbench_web.scoring.units import SUM
from fsbench_web.studies.run_list import address_of

NOT_PRINTED = SafeString('<span class="sub">not printed</span>')

register = template.Library()
register.filter("flag_label", wording.flag_label)
register.filter("flag_meaning", wording.flag_meaning)
register.filter("category_label", categories.label)


@register.filter
def score_of(row: DeltaRow, table: DeltaTable) -> str:
    """A row's score without its unit, with decimals that fit to those of its table."""
    least = numbers.least_decimals(other.score for other in table.rows)
    return numbers.amount(row.score, table.unit, least)


@register.filter
def unit_words(unit: str) -> str:
    """A table's unit; the overall score has none and says what it is instead."""
    return "sum of the six categories" if unit == SUM else unit


@register.simple_tag
def flags_of(sections: Iterable[Section]) -> list[str]:
    """The flags of all rows, each once, in the order of ``wording.FLAGS``."""
    found = {
        flag for section in sections for t in section.tables for r in t.rows for flag in r.flags
    }
    return [*(flag for flag in wording.FLAGS if flag in found), *sorted(found - set(wording.FLAGS))]


@register.simple_tag
def chart_address(pattern: str, test: str, query: str = "") -> str:
    """``pattern`` is an address with TEST where the test's name goes."""
    address = pattern.replace("/TEST/", f"/{quote(test, safe='')}/")
    return f"{address}?{query}" if query else address


@register.simple_tag
def printed(row: DeltaRow, name: str) -> SafeString:
    """Under a delta what was printed for it, marked in words where it does not follow."""
    published = row.published
    value = None if published is None else getattr(published, name)
    if published is None or value is None:
        return NOT_PRINTED
    if name not in published.differs:
        return format_html(
            '<span class="sub"><span class="said">printed </span>{}</span>', str(value)
        )
    expected = published.expected1 if name == "delta1_percent" else published.expected2
    return format_html(
        '<span class="sub"><span class="said">printed </span>'
        '<span class="differs" title="{}">{}</span> <span>differs</span></span>',
        f"The paper printed {value}; its own table gives {numbers.percent(expected)}.",
        str(value),
    )


@register.simple_tag
def row_numbers(row: DeltaRow) -> SafeString:
    """Attributes by which the browser sorts rows; what is missing has none."""
    numbers_of = {
        "score": row.score,
        "change": row.change_percent,
        "cells": row.cells,
        "runs": row.runs,
    }
    return format_html_join(
        "",
        ' data-{}="{}"',
        [(name, repr(value)) for name, value in numbers_of.items() if value is not None],
    )


@register.simple_tag
def row_name(row: DeltaRow, spec: ComparisonSpec | str) -> SafeString:
    """The contender; where a comparison can show its configurations, a link to that."""
    if isinstance(spec, ComparisonSpec):
        narrower = links.configurations_of(row.contender, spec)
        if narrower is not None:
            return format_html(
                '<a class="is-quiet" href="{}?{}" title="All its configurations">{}</a>',
                reverse("compare:page"),
                narrower.to_query(),
                row.contender,
            )
        if spec.by == "configuration":
            return format_html(
                '<a class="is-quiet" href="{}" title="{}">{}</a>', *_origin(row), row.contender
            )
    return format_html("{}", row.contender)


@register.simple_tag
def row_origin(row: DeltaRow, table: DeltaTable) -> SafeString:
    """Under the contender: what it is in full, its configuration with a link, and its study."""
    words = []
    if row.label and slug_of(row.label) != row.contender.split("@")[0]:
        words.append(format_html("{}", row.label))
    if row.subline:
        address, title = _origin(row)
        words.append(
            format_html(
                '<a class="is-quiet" href="{}" title="{}">{}</a>', address, title, row.subline
            )
        )
    if (row.configurations or 0) > 1:
        words.append(format_html("best of {}", row.configurations))
    if table.has_several_studies:
        words.append(format_html("in {}", row.study_title))
    if not words:
        return SafeString("")
    inside = format_html_join(", ", "{}", [(word,) for word in words])
    if table.has_several_studies:
        return format_html('<span class="sub clamp" title="{}">{}</span>', row.study_title, inside)
    return format_html('<span class="sub">{}</span>', inside)


@register.simple_tag
def folded(row: DeltaRow, table: DeltaTable) -> SafeString:
    """Cells and runs once more, for screens with no room for columns of them."""
    words = []
    if table.has_coverage and row.coverage:
        words.append(f"{row.coverage} cells")
    if table.has_runs and table.runs_of_each is None and row.runs is not None:
        words.append(f"{row.runs} run{'' if row.runs == 1 else 's'}")
    if not words:
        return SafeString("")
    return format_html('<span class="sub folded">{}</span>', ", ".join(words))


def _origin(row: DeltaRow) -> tuple[str, str]:
    """Address and words of where a row's number comes from: its runs, or the paper."""
    if row.run_ids:
        return address_of(row.run_ids), "Its runs"
    return reverse("studies:study", args=[row.study]), f"From {row.study_title}"


@register.filter
def signed_change(row: DeltaRow) -> str:
    """A change in percent with its sign, also where it is positive."""
    text = numbers.percent(row.change_percent)
    return f"+{text}" if (row.change_percent or 0) > 0 else text


@register.filter
def has_change_standing(table: DeltaTable) -> bool:
    """Whether of any change it is known if it is more than chance."""
    return any(row.change_verdict and row.change_verdict.status != UNKNOWN for row in table.rows)


@register.filter
def change_word(row: DeltaRow) -> str:
    return wording.change_words(row.change_percent, row.is_baseline)


@register.filter
def also_differ(found: Iterable[Difference], tables: int) -> str:
    """What else differs and in how many of the tables: one sentence."""
    by_count: dict[int, list[str]] = {}
    for difference in found:
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
def titles(found: Iterable[Difference]) -> str:
    return wording.joined([difference.one for difference in found], 12)


register.filter("joined", wording.joined)
