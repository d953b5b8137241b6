"""The page of a study next to a published one, and its files."""

from collections.abc import Iterable
from typing import NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.papers import comparison, files
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import emulation
from fsbench_web.compare.tables.delta_tables import tables_and_notice
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.renderings import answers
from fsbench_web.studies.models import Study
from fsbench_web.studies.views.study import study_or_404


class _PaperAndStudy(NamedTuple):
    """``tables`` are ``paper_tables`` and ``study_tables`` side by side."""

    study: Study
    paper: Study
    paper_tables: list[DeltaTable]
    study_tables: list[DeltaTable]
    tables: list[comparison.PaperTable]
    emulated: emulation.Notice | None


@gzip_page
@require_safe
@requires(Action.READ)
def page(request: HttpRequest, slug: str, paper: str) -> HttpResponse:
    """Appendix A of the paper with the study's own numbers, by file system."""
    pair = _paper_and_study(slug, paper)
    groups = comparison.by_test(pair.tables)
    context = {
        "study": pair.study,
        "paper": pair.paper,
        "groups": groups,
        "is_flat": all(len(group.tables) == 1 for group in groups),
        "agreement": comparison.agreement(pair.tables),
        "hardware_there": _distinct_names(pair.paper_tables, "hardware"),
        "hardware_here": _distinct_names(pair.study_tables, "hardware"),
        "kernels_there": _distinct_names(pair.paper_tables, "kernel"),
        "kernels_here": _distinct_names(pair.study_tables, "kernel"),
        "emulated": pair.emulated,
        "missing": sum(table.study is None for table in pair.tables),
        "formats": files.FORMATS,
    }
    return render(request, "compare/paper_comparison.html", context)


@require_safe
@requires(Action.READ)
def file(request: HttpRequest, slug: str, paper: str, suffix: str) -> HttpResponse:
    file_format = files.FORMATS.get(suffix)
    if file_format is None:
        suffixes = " and ".join(files.FORMATS)
        raise Http404(f"These tables can be had as {suffixes}, and not as “{suffix[:20]}”.")
    pair = _paper_and_study(slug, paper)
    heading = files.Heading(
        title=f"{pair.study.title} beside {pair.paper.title}",
        address=request.build_absolute_uri(reverse("compare:paper_comparison", args=[slug, paper])),
        as_of=timezone.localtime(),
        notes=[HARDWARE_DIFFERS, *([pair.emulated.sentence] if pair.emulated else [])],
    )
    name = f"fsbench-{slug}-and-paper-{paper}.{suffix}"
    midnight = heading.as_of.replace(hour=0, minute=0, second=0, microsecond=0)
    return answers.answer(
        request,
        file_format.write,
        pair.tables,
        heading,
        # One that says the same and was made earlier today is as good.
        cache_key=(pair.tables, heading._replace(as_of=midnight)),
        media_type=file_format.media_type,
        disposition=f'attachment; filename="{name}"',
    )


HARDWARE_DIFFERS = (
    "The hardware differs: scores of the paper and of the study are not to be compared with each "
    "other, only who is ahead of whom, and how far each is behind the best of its own table."
)


def _paper_and_study(slug: str, paper: str) -> _PaperAndStudy:
    study, published = study_or_404(slug), study_or_404(paper)
    if not published.is_published or study == published:
        raise Http404(f'"{paper}" is no published study that you can compare with this one.')
    published_tables, _ = tables_and_notice(ComparisonSpec(studies=(published.slug,)))
    study_tables, emulated = tables_and_notice(ComparisonSpec(studies=(study.slug,)))
    return _PaperAndStudy(
        study,
        published,
        published_tables,
        study_tables,
        comparison.paper_tables(published_tables, study_tables),
        emulated,
    )


def _distinct_names(tables: Iterable[DeltaTable], field: str) -> list[str]:
    names = {getattr(row, field) for table in tables for row in table.rows}
    return sorted(name for name in names if name)
