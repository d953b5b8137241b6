"""Findings, intervals and verdicts on pages."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.tables import statements
from fsbench_web.compare.tables.findings import Finding, Part, findings_by_test
from fsbench_web.compare.tables.statements import CheckedStatement
from fsbench_web.core.comparison.rows import DeltaTable

register = template.Library()


@register.filter
def sentence(finding: Finding | CheckedStatement) -> SafeString:
    return SafeString("".join(map(_part, finding.parts)))


def _part(part: Part) -> str:
    text = escape(part.text)
    if part.href:
        return f'<a href="{escape(part.href)}">{text}</a>'
    return f"<strong>{text}</strong>" if part.is_name else text


@register.filter
def order_address(finding: Finding) -> str:
    """The form that orders what would decide a finding; "" where nobody knows what would."""
    if finding.decided_by is None:
        return ""
    series, blocks = finding.decided_by
    query = urlencode([*(("series", pk) for pk in series), ("blocks", blocks)])
    return f"{reverse('studies:more_blocks')}?{query}"


@register.inclusion_tag("compare/findings.html", takes_context=True)
def findings_of(
    context: template.Context,
    sections: Iterable[Section],
    stated: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """What the tables say, in sentences that lead to their tables, and what a paper ``stated``."""
    # A page without the rows of its tests leads to the tab that has them.
    page = "" if context.get("shows_tests", True) else context.get("tests_at", "")
    places, tables = {}, []
    for section in sections:
        for table, anchor in zip(section.tables, section.anchors, strict=True):
            places[id(table)] = f"{page}#{anchor}"
            tables.append(table)

    def place(table: DeltaTable) -> str:
        return places[id(table)]

    return {
        "findings": findings_by_test(tables, place),
        **_page_context(context),
        "checked": statements.check(stated, tables, place),
    }


def _page_context(context: template.Context) -> dict[str, Any]:
    """What ran one after the other, and whether this person may submit jobs."""
    user, submitting = context.get("user"), context.get("submitting")
    may_order = user and user.is_authenticated and submitting and submitting.is_allowed
    return {"in_turn": context.get("in_turn"), "may_order": bool(may_order)}
