"""The page of a study beside a published one."""

from collections.abc import Iterable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.compare import beside
from fsbench_web.compare.rows import DeltaTable
from fsbench_web.compare.spec import ComparisonSpec
from fsbench_web.compare.tables import told_tables
from fsbench_web.studies.models import Study


@gzip_page
@require_safe
def page(request: HttpRequest, slug: str, paper: str) -> HttpResponse:
    """Appendix A of the paper with the study's own numbers beside it, by file system."""
    own, published = _study(slug), _study(paper)
    if not published.is_published or own == published:
        raise Http404(f'"{paper}" is no published study that another one could stand beside.')
    theirs, _ = told_tables(ComparisonSpec(studies=(published.slug,)))
    ours, emulated = told_tables(ComparisonSpec(studies=(own.slug,)))
    tables = beside.beside(theirs, ours)
    context = {
        "study": own,
        "paper": published,
        "groups": beside.by_test(tables),
        "agreement": beside.agreement(tables),
        "hardware_there": _named(theirs, "hardware"),
        "hardware_here": _named(ours, "hardware"),
        "kernels_there": _named(theirs, "kernel"),
        "kernels_here": _named(ours, "kernel"),
        "emulated": emulated,
        "missing": sum(table.own is None for table in tables),
    }
    return render(request, "compare/beside.html", context)


def _study(slug: str) -> Study:
    found = Study.objects.filter(slug=slug).first()
    if found is None:
        raise Http404(
            f'There is no study "{slug}". The list of studies, /studies/, has all that there are.'
        )
    return found


def _named(tables: Iterable[DeltaTable], what: str) -> list[str]:
    names = {getattr(row, what) for table in tables for row in table.rows}
    return sorted(name for name in names if name)
