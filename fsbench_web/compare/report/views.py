"""The report of a study: one page, for the screen and the printer."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.report.content import content_of
from fsbench_web.compare.report.recorded_series import MOST_SERIES, by_command_lines, method_of
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.fields import CONTENDERS
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError, units_of
from fsbench_web.compare.tables import bounds
from fsbench_web.compare.tables.confounding import order_over_time
from fsbench_web.compare.tables.delta_tables import (
    answer_of,
    comparison,
    in_units_of,
    tables_and_notice,
)
from fsbench_web.core.comparison.answer_shown import answer_context
from fsbench_web.core.comparison.matrix import matrix_of
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.platform import limits
from fsbench_web.studies.models import Study
from fsbench_web.studies.scores.source_runs import spans_of
from fsbench_web.studies.views.study import study_or_404


@require_safe
@requires(Action.READ)
def html(request: HttpRequest, slug: str) -> HttpResponse:
    """The report, ready to print. ``?by=``: what its tables rank; ``units=``: their units."""
    study = study_or_404(slug)
    spec = _spec(request, study)
    limited = bounds.BoundedComparison(spec)
    if not study.is_published:
        limited = bounds.by_rows(limited, room=limits.REPORT)
    ranked, emulated = tables_and_notice(limited.spec)
    work, work_tables = _work(spec, request.GET)
    tables = [*work_tables, *ranked]
    answer = answer_of(tables)
    method = method_of(study)
    part = limited.part
    whole = f"{reverse('compare:page')}?{part.whole.to_query()}" if part else ""
    context = {
        "study": study,
        "made_at": timezone.localtime(),
        "address": request.build_absolute_uri(reverse("report", args=[study.slug])),
        "site": request.build_absolute_uri("/"),
        "work": work,
        "part": part,
        "whole": request.build_absolute_uri(whole) if part else "",
        "emulated": emulated if emulated and emulated.left_out else None,
        "in_turn": () if study.is_published else order_over_time(ranked, spans_of).turns,
        **answer_context(answer),
        "matrix": matrix_of(tables, answer),
        **content_of(study, tables),
        "method": method,
        "most_series": MOST_SERIES,
        "recorded": [
            ("Hardware", method.hardware, "No hardware profile was named."),
            ("Systems", method.environments, "Nothing was recorded of kernel and tools."),
            ("Workloads", method.workloads, "No workload was named."),
        ],
        "commands": by_command_lines(method.series),
        "silent": dict.fromkeys(row.configuration for row in method.series if not row.commands),
        "query": replace(spec, units="").to_query(),
        "file_query": in_units_of(spec, tables).to_query(),
    }
    return render(request, "compare/report.html", context)


def _spec(request: HttpRequest, study: Study) -> ComparisonSpec:
    by = request.GET.get("by") or next(
        (section.get("by", "") for section in study.sections if section["kind"] == "tables"), ""
    )
    if by not in CONTENDERS:
        by = "filesystem"
    return ComparisonSpec(studies=(study.slug,), by=by, units=units_of(request.GET))


def _work(spec: ComparisonSpec, query: QueryDict) -> tuple[list[str], list[DeltaTable]]:
    """What was measured of the work profile that the address asks for, and its tables."""
    try:
        work_spec = profiles.of_query(spec, query)
        work_comparison = comparison(work_spec) if work_spec.is_of_work else None
    except SpecError as error:
        return error.problems, []
    if work_comparison is None:
        return [], []
    return [
        sentence for work_answer in work_comparison.work for sentence in work_answer.sentences
    ], work_comparison.tables
