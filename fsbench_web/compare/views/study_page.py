"""The page of one study: its comparison, with a head that says what study it is."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go
from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, OuterRef
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.compare.choices import work_choice
from fsbench_web.compare.papers.views import papers_of
from fsbench_web.compare.pictures.sections import Section
from fsbench_web.compare.views.compare import share_context
from fsbench_web.compare.views.shown import RUNS, ShownComparison, page_context, read
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.figures import bars
from fsbench_web.figures.bars import Halves
from fsbench_web.studies.jobs import reproductions
from fsbench_web.studies.models import END_STATES, UNTRACED, Job, Run, RunState, Study
from fsbench_web.studies.runs import repeats
from fsbench_web.studies.scores.queries import on_worker
from fsbench_web.studies.views.study import study_or_404
from fsbench_web.studies.views.study_progress import progress_of

IMPORTS_SHOWN = 50
_IS_IMPORTED = Exists(
    Study._base_manager.filter(pk=OuterRef("pk"), imports__state="done")
) & ~Exists(Job._base_manager.filter(study=OuterRef("pk")).exclude(document={}))
"""Whether a new run repeats what others measured: no job of the study says what to do."""


@require_safe
@requires(Action.READ)
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """A study, published or measured: its address is that of a comparison without the study."""
    found = study_or_404(slug, is_imported=_IS_IMPORTED)
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
        "papers": papers_of(shown.tables),
    }
    if shown.tab == RUNS or not (shown.tables or shown.compared.work):
        common |= _series_context(request, study)
    return common


def _series_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    """The configurations and imports of a measured study: read where they are shown alone."""
    page = page_of(study, request.GET)
    imports = study.imports.filter(state="done").select_related("created_by")
    return {
        "series": shown_rows(page),
        "series_page": page,
        "imports": imports.annotate(run_count=Count("runs"))[:IMPORTS_SHOWN],
    }


SERIES_SHOWN = 50


_OF_SERIES = (
    *("pk", "configuration__label", "configuration__is_known", "preparation", "machine"),
    *("workload__title", "lun__name", "lun__worker__name"),
    *("hardware__slug", "hardware__name", "kernel"),
)


def page_of(study: Study, query: QueryDict) -> Page[dict[str, Any]]:
    """A page of the study's series (``?configurations=``). One query, and one when it is read."""
    series = study.series.order_by("configuration__filesystem", "configuration__label", "id")
    return Paginator(series.values(*_OF_SERIES), SERIES_SHOWN).get_page(query.get("configurations"))


def shown_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns ``_OF_SERIES`` with rules of repetition and counts of runs. Two queries."""
    page = list(rows)
    keys = [row["pk"] for row in page]
    rules = repeats.rules_of(keys)
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    counted = Run.objects.filter(series__in=keys, tracing=UNTRACED).order_by()
    states = counted.values_list("series_id", "state")
    for series_id, state, count in states.annotate(Count("pk")):
        counts[series_id][state] = count
    listed = []
    for row in page:
        of_series = counts[row["pk"]]
        ended = sum(count for state, count in of_series.items() if state in END_STATES)
        done = of_series.get(RunState.DONE, 0)
        listed.append(
            row
            | {
                "preparation": row["preparation"] and preparation.in_words(row["preparation"]),
                "machine": Machine.of(row["machine"]),
                "repeats": [repeats.in_words(rule) for rule in rules.get(row["pk"], ())],
                "lun": on_worker(row["lun__name"], row["lun__worker__name"]),
                "done_count": done,
                "failed_count": ended - done,
                "run_count": sum(of_series.values()),
            }
        )
    return listed


# What the page of a published study has besides.


def paper_context(study: Study, sections: Sequence[Section]) -> dict[str, Any]:
    """The paper's sections with their figures, and its printed deltas, checked."""
    tables = [table for section in sections for table in section.tables]
    described = [_with_figure(section, tables) for section in study.sections]
    return {
        "combined": [section for section in described if _is_combined(section)],
        "paper_sections": [
            section
            for section in described
            if section["kind"] not in {"tables", "statements"} and not _is_combined(section)
        ],
        "stated": next(
            (section["items"] for section in study.sections if section["kind"] == "statements"), []
        ),
        "printed_count": _printed_count(tables),
        "disagreements": _disagreements(sections),
    }


def _disagreements(sections: Iterable[Section]) -> list[tuple[object, ...]]:
    """(anchor, table, contender, delta, printed, expected) of each delta that its table refutes."""
    return [
        (
            *(anchor, f"{section.label}, {table.category_label}", row.contender),
            *(delta, printed, expected),
        )
        for section in sections
        for table, anchor in zip(section.tables, section.anchors, strict=True)
        for row in table.rows
        if row.published is not None
        for delta, printed, expected in (
            (1, row.published.delta1_percent, row.published.expected1),
            (2, row.published.delta2_percent, row.published.expected2),
        )
        if f"delta{delta}_percent" in row.published.differs
    ]


def _printed_count(tables: Iterable[DeltaTable]) -> int:
    return sum(
        delta is not None
        for table in tables
        for row in table.rows
        if row.published is not None
        for delta in (row.published.delta1_percent, row.published.delta2_percent)
    )


def _with_figure(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """The section with the figure it asks for (studies.published has the vocabulary)."""
    if section["kind"] == "chart":
        rows = section["rows"]
        figure = _stated_values(
            tuple(label for label, _, _ in rows),
            tuple(None if value is None else float(value) for _, value, _ in rows),
            tuple(bound == "more than" for _, _, bound in rows),
            section["unit"],
            section["title"],
        )
        return {**section, "figure": figure}
    if section["kind"] == "combined":
        return {**section, "figure": _combined_figure(section, tables)}
    return dict(section)


def _is_combined(section: Mapping[str, Any]) -> bool:
    return section["kind"] == "combined" or section.get("group") == "combined"


def _combined_figure(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> go.Figure | None:
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    unit = ""
    for table in tables:
        if table.category == section["category"] and table.test in {"write", "read"}:
            unit = table.unit
            for row in table.rows:
                scores[row.contender][table.test] = row.score
    if not scores:
        return None
    pairs = tuple(
        Halves(name, scores[name].get("write"), scores[name].get("read")) for name in sorted(scores)
    )
    return _read_write(pairs, unit, section["title"])


_stated_values = lru_cache(maxsize=64)(bars.stated_values)
_read_write = lru_cache(maxsize=64)(bars.read_write)
