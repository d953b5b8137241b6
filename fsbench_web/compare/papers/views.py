"""The page of a study next to a published one, and its files."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.papers import comparison
from fsbench_web.compare.papers.comparison import PaperRow, PaperTable, agreement
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import emulation
from fsbench_web.compare.tables.csv import MEDIA_TYPE, cell
from fsbench_web.compare.tables.delta_tables import comparison as comparison_of
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.numbers import as_text
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
        "formats": FORMATS,
    }
    return render(request, "compare/paper_comparison.html", context)


@require_safe
@requires(Action.READ)
def file(request: HttpRequest, slug: str, paper: str, suffix: str) -> HttpResponse:
    file_format = FORMATS.get(suffix)
    if file_format is None:
        suffixes = " and ".join(FORMATS)
        raise Http404(f"These tables can be had as {suffixes}, and not as “{suffix[:20]}”.")
    pair = _paper_and_study(slug, paper)
    heading = Heading(
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
    published_tables = delta_tables(ComparisonSpec(studies=(published.slug,)))
    compared = comparison_of(ComparisonSpec(studies=(study.slug,)))
    return _PaperAndStudy(
        study,
        published,
        published_tables,
        compared.tables,
        comparison.paper_tables(published_tables, compared.tables),
        compared.emulated,
    )


def _distinct_names(tables: Iterable[DeltaTable], field: str) -> list[str]:
    names = {getattr(row, field) for table in tables for row in table.rows}
    return sorted(name for name in names if name)


# The files.

_OF_EACH = ("configuration", "score", "best", "delta1_percent", "runs", "cells", "flags")
HEADER = (
    *("test", "category", "unit", "contender"),
    *(f"paper_{name}" for name in _OF_EACH),
    *(f"own_{name}" for name in _OF_EACH),
)


class Heading(NamedTuple):
    """What the files say of themselves."""

    title: str
    address: str
    as_of: datetime
    notes: Sequence[str] = ()


def as_csv(tables: Sequence[PaperTable], heading: Heading) -> bytes:
    """One line for each entry and table, with ``HEADER``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADER)
    for table in tables:
        start = [as_text(getattr(table.paper, name)) for name in ("test", "category", "unit")]
        for row in table.rows:
            sides = [_cells(row.paper), _cells(row.study)]
            writer.writerow([*start, as_text(row.contender), *sides[0], *sides[1]])
    return out.getvalue().encode()


def _cells(row: DeltaRow | None) -> list[str]:
    return [cell(getattr(row, name)) if row else "" for name in _OF_EACH]


def as_json(tables: Sequence[PaperTable], heading: Heading) -> bytes:
    """Everything that is known of each row of either; null where it has none."""
    content = {
        "title": heading.title,
        "notes": list(heading.notes),
        "address": heading.address,
        "as_of": heading.as_of.isoformat(),
        "agreement": asdict(agreement(tables)),
        "tables": [_table(table) for table in tables],
    }
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False).encode()


def _table(table: PaperTable) -> dict[str, Any]:
    return {
        "test": table.paper.test,
        "category": table.paper.category,
        "unit": table.paper.unit,
        "lower_is_better": table.paper.lower_is_better,
        "is_measured": table.study is not None,
        "pairs": table.pairs,
        "same_pairs": table.same_pairs,
        "is_same_best": table.is_same_best,
        "rows": [_row(row) for row in table.rows],
    }


def _row(row: PaperRow) -> dict[str, Any]:
    return {
        "contender": row.contender,
        "paper": row.paper and row.paper.as_dict(),
        "own": row.study and row.study.as_dict(),
    }


class PaperFormat(NamedTuple):
    label: str
    media_type: str
    write: Callable[[Sequence[PaperTable], Heading], bytes]


FORMATS = {
    "csv": PaperFormat("CSV", MEDIA_TYPE, as_csv),
    "json": PaperFormat("JSON", "application/json", as_json),
}
"""By the suffix of the file."""
