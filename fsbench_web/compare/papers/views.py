"""A study next to a published one: orders and distances, never scores. Its page and files."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.csv import MEDIA_TYPE, cell
from fsbench_web.compare.tables.delta_tables import Comparison, comparison, delta_tables
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.numbers import as_text
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.deltas import is_same
from fsbench_web.renderings import answers
from fsbench_web.studies.jobs import reproductions
from fsbench_web.studies.models import Study
from fsbench_web.studies.views.study import study_or_404

SHORT_TITLES = {
    "unisys-2005": "Unisys 2005",
    "galli-2001": "Galli 2001",
    "hilzinger-2006": "Hilzinger 2006",
}
TESTS = {
    "unisys-2005": frozenset(reproductions.TESTS),
    "galli-2001": frozenset(
        f"{step}_{time}"
        for step in ("copy", "make_bzimage", "make_clean", "remove", "random_io")
        for time in ("cpu", "real")
    ),
    "hilzinger-2006": frozenset({"kernel_source_copy"}),
}
"""What each paper printed scores of, in the names of today's workloads."""


class PaperRow(NamedTuple):
    """One contender, in the paper and here; None where one of them has not got it."""

    contender: str
    paper: DeltaRow | None
    study: DeltaRow | None


@dataclass(frozen=True)
class PaperTable:
    """One test and category; ``study`` is None where not measured.

    ``same_pairs`` of ``pairs`` stand in the same order; ``is_same_best``: None where unknown.
    """

    paper: DeltaTable
    study: DeltaTable | None
    rows: list[PaperRow]
    pairs: int
    same_pairs: int
    is_same_best: bool | None

    @property
    def flags(self) -> tuple[str, ...]:
        return self.study.common_flags if self.study else ()

    @property
    def coverage_words(self) -> str:
        """What all rows of its table have alike, in words: cells and runs; "" for nothing."""
        if self.study is None:
            return ""
        cells, runs = self.study.coverage_of_each, self.study.runs_of_each
        parts = [f"{cells} each"] if cells else []
        return ", ".join([*parts, f"{runs} run{'' if runs == 1 else 's'}"] if runs else parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        paper = self.paper
        return {
            "test": paper.test,
            "category": paper.category,
            "unit": paper.unit,
            "lower_is_better": paper.lower_is_better,
            "is_measured": self.study is not None,
            "pairs": self.pairs,
            "same_pairs": self.same_pairs,
            "is_same_best": self.is_same_best,
            "rows": [
                {
                    "contender": row.contender,
                    "paper": row.paper and row.paper.as_dict(),
                    "own": row.study and row.study.as_dict(),
                }
                for row in self.rows
            ],
        }


def paper_tables(
    paper: Sequence[DeltaTable], study_tables: Iterable[DeltaTable]
) -> list[PaperTable]:
    """Every table of the paper, in its order, with that of the same test, category and unit."""
    by_key = {(table.test, table.category, table.unit): table for table in study_tables}
    return [_table(table, by_key.get((table.test, table.category, table.unit))) for table in paper]


def _table(paper: DeltaTable, study_table: DeltaTable | None) -> PaperTable:
    here = {row.contender: row for row in study_table.rows} if study_table else {}
    there = {row.contender: row for row in paper.rows}
    names = [*there, *(name for name in here if name not in there)]
    common = [name for name in there if name in here]
    pairs = same = 0
    best: bool | None = None
    if study_table is not None and study_table.is_ranked and paper.is_ranked:
        for first, second in combinations(common, 2):
            pairs += 1
            same += _order(there[first], there[second]) == _order(here[first], here[second])
        # Who is best among all is asked only where both had the same to choose from.
        if set(there) <= set(here) and len(common) > 1:
            best = _best(there.values()) == _best(here[name] for name in common)
    return PaperTable(
        paper,
        study_table,
        [PaperRow(name, there.get(name), here.get(name)) for name in names],
        pairs,
        same,
        best,
    )


def _order(first: DeltaRow, second: DeltaRow) -> int:
    if is_same(first.score, second.score):
        return 0
    return 1 if first.score > second.score else -1


def _best(rows: Iterable[DeltaRow]) -> set[str]:
    listed = list(rows)
    # A delta 1 is 0 of the best of its table, and grows with the distance: less is better.
    deltas = [row.delta1_percent for row in listed if row.delta1_percent is not None]
    return {row.contender for row in listed if deltas and row.delta1_percent == min(deltas)}


def agreement(tables: Iterable[PaperTable]) -> dict[str, int]:
    """How often paper and study agree, over all tables that both have."""
    shared = [table for table in tables if table.study is not None]
    judged = [table.is_same_best for table in shared if table.is_same_best is not None]
    return {
        "tables": len(shared),
        "same_best": sum(judged),
        "of_best": len(judged),
        "pairs": sum(table.pairs for table in shared),
        "same_pairs": sum(table.same_pairs for table in shared),
    }


def papers_of(tables: Iterable[DeltaTable]) -> list[tuple[str, str]]:
    """(slug, short title) of the papers that a study with these tables compares with."""
    tests = {table.test for table in tables}
    return [(slug, SHORT_TITLES[slug]) for slug, printed in TESTS.items() if tests & printed]


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
        "agreement": agreement(tables),
        "tables": [table.as_dict() for table in tables],
    }
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False).encode()


class PaperFormat(NamedTuple):
    label: str
    media_type: str
    write: Callable[[Sequence[PaperTable], Heading], bytes]


FORMATS = {
    "csv": PaperFormat("CSV", MEDIA_TYPE, as_csv),
    "json": PaperFormat("JSON", "application/json", as_json),
}
"""By the suffix of the file."""


@gzip_page
@require_safe
@requires(Action.READ)
def page(request: HttpRequest, slug: str, paper: str) -> HttpResponse:
    """Appendix A of the paper with the study's own numbers, by file system."""
    study, published, compared, tables = _paper_and_study(slug, paper)
    there, here = [table.paper for table in tables], compared.tables
    by_test: dict[str, list[PaperTable]] = {}
    for table in tables:
        by_test.setdefault(table.paper.test, []).append(table)
    context = {
        "study": study,
        "paper": published,
        "groups": [(test, testnames.label(test), group) for test, group in by_test.items()],
        "is_flat": all(len(group) == 1 for group in by_test.values()),
        "agreement": agreement(tables),
        "hardware_there": _distinct_names(there, "hardware"),
        "hardware_here": _distinct_names(here, "hardware"),
        "kernels_there": _distinct_names(there, "kernel"),
        "kernels_here": _distinct_names(here, "kernel"),
        "emulated": compared.emulated,
        "missing": sum(table.study is None for table in tables),
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
    study, published, compared, tables = _paper_and_study(slug, paper)
    heading = Heading(
        title=f"{study.title} versus {published.title}",
        address=request.build_absolute_uri(reverse("compare:paper_comparison", args=[slug, paper])),
        as_of=timezone.localtime(),
        notes=[HARDWARE_DIFFERS, *([compared.emulated.sentence] if compared.emulated else [])],
    )
    name = f"fsbench-{slug}-and-paper-{paper}.{suffix}"
    midnight = heading.as_of.replace(hour=0, minute=0, second=0, microsecond=0)
    return answers.answer(
        request,
        file_format.write,
        tables,
        heading,
        # One that says the same and was made earlier today is as good.
        cache_key=(tables, heading._replace(as_of=midnight)),
        media_type=file_format.media_type,
        disposition=f'attachment; filename="{name}"',
    )


HARDWARE_DIFFERS = (
    "The hardware differs, so do not compare scores of the paper with scores of the study. Compare "
    "the order, and how far each is behind the best of its own table."
)


def _paper_and_study(slug: str, paper: str) -> tuple[Study, Study, Comparison, list[PaperTable]]:
    """The study, the paper, what the study measured, and both of them table by table."""
    study, published = study_or_404(slug), study_or_404(paper)
    if not published.is_published or study == published:
        raise Http404(f'"{paper}" is not a published study that you can compare with this one.')
    printed = delta_tables(ComparisonSpec(studies=(published.slug,)))
    compared = comparison(ComparisonSpec(studies=(study.slug,)))
    return study, published, compared, paper_tables(printed, compared.tables)


def _distinct_names(tables: Iterable[DeltaTable], field: str) -> list[str]:
    names = {getattr(row, field) for table in tables for row in table.rows}
    return sorted(name for name in names if name)
