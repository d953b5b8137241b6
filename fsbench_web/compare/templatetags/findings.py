"""Findings, intervals and verdicts on pages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from fsbench_web.compare import statements
from fsbench_web.compare.findings import Finding, Part, collected
from fsbench_web.compare.report.blocks import Prose
from fsbench_web.compare.rows import DeltaTable
from fsbench_web.compare.sections import Section
from fsbench_web.compare.statements import Checked

register = template.Library()


@register.filter
def sentence(said: Finding | Checked | Prose) -> SafeString:
    """The parts of a sentence, with their links."""
    return format_html_join("", "{}", [(_part(part),) for part in said.parts])


def _part(part: Part) -> str:
    if part.href:
        return format_html('<a href="{}">{}</a>', part.href, part.text)
    return format_html("<strong>{}</strong>", part.text) if part.is_name else part.text


@register.inclusion_tag("compare/findings.html")
def findings_of(sections: Iterable[Section]) -> dict[str, Any]:
    """What the tables of a comparison say, in sentences that lead to their tables."""
    tables = [table for section in sections for table in section.tables]
    return {"findings": collected(tables)}


@register.inclusion_tag("compare/findings.html")
def study_findings(
    groups: Iterable[Any], stated: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The same of a study's page (``study_page.TestGroup``), and what its text states."""
    places = {id(shown.table): f"#{shown.anchor}" for group in groups for shown in group.tables}
    tables = [shown.table for group in groups for shown in group.tables]

    def place(table: DeltaTable) -> str:
        return places[id(table)]

    return {
        "findings": collected(tables, place),
        "checked": statements.check(stated, tables, place),
    }
