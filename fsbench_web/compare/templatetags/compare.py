"""What only comparisons write into pages."""

from collections.abc import Iterable
from urllib.parse import quote

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fsbench_web.compare import wording
from fsbench_web.compare.rows import DeltaRow, DeltaTable
from fsbench_web.compare.sections import Section
from fsbench_web.figures import numbers
from fsbench_web.scoring import categories
from fsbench_web.scoring.units import SUM

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
    """The cell of one printed delta, marked in words where it does not follow."""
    published = row.published
    value = None if published is None else getattr(published, name)
    if published is None or value is None:
        return format_html('<td class="num">{}</td>', numbers.MISSING)
    if name not in published.differs:
        return format_html('<td class="num">{}</td>', str(value))
    expected = published.expected1 if name == "delta1_percent" else published.expected2
    return format_html(
        '<td class="num"><span class="differs" title="{}">{}</span>'
        '<span class="sub">differs</span></td>',
        f"The paper printed {value}; its own table gives {numbers.percent(expected)}.",
        str(value),
    )
