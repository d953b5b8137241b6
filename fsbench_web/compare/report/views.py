"""The report of a study, for the screen and the printer."""

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.report.blocks import Report
from fsbench_web.compare.report.content import report_of
from fsbench_web.compare.report.recorded_series import method_of
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.settings import CONTENDERS
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError, units_of
from fsbench_web.compare.tables import bounds
from fsbench_web.compare.tables.confounding import order_over_time
from fsbench_web.compare.tables.delta_tables import comparison, tables_and_notice
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core import numbers
from fsbench_web.platform import limits
from fsbench_web.studies.models import Study
from fsbench_web.studies.scores.source_runs import spans_of
from fsbench_web.studies.views.study import study_or_404


@require_safe
@requires(Action.READ)
def html(request: HttpRequest, slug: str) -> HttpResponse:
    """The report as a page that prints as it is. ``?by=`` says what its tables rank, ``units=`` in
    what.
    """
    study = study_or_404(slug)
    return render(
        request,
        "compare/report.html",
        {"study": study, "report": _report(request, study)},
    )


def _spec(request: HttpRequest, study: Study) -> ComparisonSpec:
    """The comparison of which the report has the tables."""
    by = request.GET.get("by") or next(
        (section.get("by", "") for section in study.sections if section["kind"] == "tables"), ""
    )
    if by not in CONTENDERS:
        by = "filesystem"
    return ComparisonSpec(studies=(study.slug,), by=by, units=units_of(request.GET))


def _report(request: HttpRequest, study: Study) -> Report:
    spec = _spec(request, study)
    limited = bounds.BoundedComparison(spec)
    if not study.is_published:
        limited = bounds.by_rows(limited, room=limits.REPORT)
    tables, emulated = tables_and_notice(limited.spec)
    work, of_work = _work(spec, request.GET)
    return report_of(
        study,
        [*of_work, *tables],
        method_of(study),
        site=request.build_absolute_uri("/"),
        address=request.build_absolute_uri(reverse("report", args=[study.slug])),
        by=spec.by,
        units=spec.units,
        emulated=emulated.sentence if emulated and emulated.left_out else "",
        in_turn="" if study.is_published else order_over_time(tables, spans_of).sentences,
        left_out=_left_out(request, limited),
        work=work,
        made_at=timezone.localtime(),
    )


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


def _left_out(request: HttpRequest, limited: bounds.BoundedComparison) -> str:
    """What the report is without, and where it is."""
    part = limited.part
    if part is None:
        return ""
    page = f"{reverse('compare:page')}?{part.whole.to_query()}"
    alone = " What is shown is ranked by itself." if part.is_apart else ""
    return (
        f"This report shows {part.shown_rows:,} rows, those of {part.shown_tests:,} of "
        f"{numbers.counted(len(part.tests), 'test')}: all of them are more than a report "
        f"holds.{alone} The others, part by part: "
        f"{request.build_absolute_uri(page)}"
    )
