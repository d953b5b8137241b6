"""The page of one study: its comparison, with a head that says what study it is."""

from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.choices import work_choice
from fsbench_web.compare.papers import comparison
from fsbench_web.compare.papers.printed import paper_context
from fsbench_web.compare.views import shown_series
from fsbench_web.compare.views.compare import share_context
from fsbench_web.compare.views.shown import RUNS, ShownComparison, page_context, read
from fsbench_web.studies.jobs import reproductions
from fsbench_web.studies.models import Study
from fsbench_web.studies.views.study import study_or_404
from fsbench_web.studies.views.study_progress import progress_of

IMPORTS_SHOWN = 50


@require_safe
@requires(Action.READ)
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """A study, published or measured: its address is that of a comparison without the study."""
    found = study_or_404(slug)
    shown = read(request.GET, found)
    if "seen" in request.GET and request.headers.get("HX-Request") == "true":
        context = {"study": found, "by": shown.spec.by, "progress": progress_of(found, request)}
        return render(request, "studies/study_progress.html", context)
    context = {
        **page_context(shown),
        **share_context(request.user, shown),
        **_head_context(request, found, shown),
    }
    return render(request, "studies/study.html", context)


def _head_context(request: HttpRequest, study: Study, shown: ShownComparison) -> dict[str, Any]:
    """What the page says of the study besides its comparison."""
    common = {
        "study": study,
        "by": shown.spec.by,
        "can_reproduce": study.slug in reproductions.PAPERS,
        "work_choice": work_choice(shown.spec),
    }
    if study.is_published:
        systems = study.systems.order_by("id")
        return common | paper_context(study, shown.sections) | {"systems": systems}
    common |= {
        "may_own": rights.may(request.user, rights.Action.OWN, study),
        "progress": progress_of(study, request, not shown.tables),
        "papers": comparison.papers_of(shown.tables),
    }
    if shown.tab == RUNS or not (shown.tables or shown.compared.work):
        common |= _series_context(request, study)
    return common


def _series_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    """The configurations and imports of a measured study: read where they are shown alone."""
    page = shown_series.page_of(study, request.GET)
    imports = study.imports.filter(state="done").select_related("created_by")
    return {
        "series": shown_series.shown_rows(page),
        "series_page": page,
        "imports": imports.annotate(run_count=Count("runs"))[:IMPORTS_SHOWN],
    }
