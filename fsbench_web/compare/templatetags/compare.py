"""What only comparisons write into pages."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from django import template

from fsbench_web.compare.choices import Filter
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.selection import wording
from fsbench_web.compare.selection.folds import folded_tests
from fsbench_web.compare.tables.differences import Difference
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories
from fsbench_web.core.units import SUM

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
