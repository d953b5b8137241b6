"""Findings, intervals and verdicts on pages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template

from fsbench_web.compare import statements, uncertainty
from fsbench_web.compare.findings import collected
from fsbench_web.compare.rows import DeltaRow, DeltaTable
from fsbench_web.compare.sections import Section

register = template.Library()
register.filter("has_standing", uncertainty.has_standing)


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


@register.inclusion_tag("compare/interval.html")
def interval_of(row: DeltaRow, table: DeltaTable) -> dict[str, Any]:
    """Under a score: its interval, and on demand around what it is and of what."""
    if row.interval is None:
        return {"short": ""}
    return {
        "short": uncertainty.half_width(row.interval, table.unit),
        "of_samples": row.interval.of == uncertainty.SAMPLES,
        "sentence": uncertainty.interval_sentence(row.interval, table.unit),
    }


@register.inclusion_tag("compare/standing.html")
def standing_of(row: DeltaRow) -> dict[str, Any]:
    """Whether the best is ahead of the row by more than chance (of the best: of all), and why."""
    verdict = row.verdict
    return {
        "words": uncertainty.standing(row),
        "why": uncertainty.why(verdict) if verdict else "",
    }


@register.inclusion_tag("compare/standing.html")
def change_standing_of(row: DeltaRow) -> dict[str, Any]:
    """The same of a row against the baseline."""
    verdict = row.change_verdict
    return {
        "words": uncertainty.change_standing(row),
        "why": uncertainty.why(verdict) if verdict else "",
    }
