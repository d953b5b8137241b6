"""Comparisons with what is known of their differences: verdicts, findings, files."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router, binary
from fsbench_web.api.protocol.schemas import Derived
from fsbench_web.api.results.deltas import (
    DeltaRowOut,
    DeltaTableOut,
    Filters,
    ShareOut,
    WorkOut,
    link_to_next,
    spec_of,
)
from fsbench_web.compare.exports import views
from fsbench_web.compare.exports.formats import FORMATS
from fsbench_web.compare.pictures import views as pictures_views
from fsbench_web.compare.pictures.base import SHOWS
from fsbench_web.compare.pictures.views import KINDS
from fsbench_web.compare.pictures.views import spec_of as picture_of
from fsbench_web.compare.selection.spec import set_aside
from fsbench_web.compare.selection.wording import describe
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.bounds import bounded_answer
from fsbench_web.compare.tables.delta_tables import (
    Comparison,
    answer_of,
    comparison,
    delta_tables,
    refuse_missing_baseline,
)
from fsbench_web.compare.tables.differences import MeasuredPeriod, order_over_time
from fsbench_web.core.comparison import answer_shown
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.stats.intervals import MedianInterval
from fsbench_web.core.stats.verdicts import Verdict
from fsbench_web.platform import limits
from fsbench_web.studies.scores.source_runs import spans_of

router = Router()


class VerdictOut(Derived, of=Verdict):
    """Whether a difference is more than chance. ``status`` is significant, equal (equivalent), tie
    (inconclusive) or unknown, and ``reasons`` say why; ``method`` is paired, unpaired or freenix.
    ``q_value`` is the false discovery rate among all pairs shown, by which ``status`` is judged;
    ``p_holm`` is Holm's over the ``tested`` pairs that the table's contenders make. ``ratio`` is
    the speed of the row over the speed that it is judged against, between ``ratio_low`` and
    ``ratio_high`` at 95%. Both were measured in ``blocks``, and ``deviation`` is that of its
    logarithm between them. ``more_blocks`` would decide a tie; ``outlook`` is
    more_repeats, tied (too many are needed, and the difference is below 10%) or too_noisy.
    ``p_equivalence`` is of a difference of ``equivalence_percent`` or more, and
    ``p_equivalence_corrected`` the same for all pairs of the table.
    """

    outlook: str | None = None


class MedianOut(Derived, of=MedianInterval):
    """Of the ``count`` repeats, in the table's unit; between ``low`` and ``high`` by order
    statistics, at ``level``, which is 0.95 or more.
    """


_OTHERWISE = (
    "study_title",
    "left_out",
    "run_ids",
    "interval",
    "verdict",
    "change_verdict",
    "share",
)


class ComparedRow(Derived, DeltaRowOut, of=DeltaRow, without=(*_OTHERWISE, "repeat_scores")):
    """A row of ``/deltas`` with where it comes from. ``verdict`` is of the best against it (of the
    best row: of it against all others), ``change_verdict`` of it against the baseline.
    ``interval`` is the 95% interval and says of what.
    """

    run_ids: list[int]
    interval: dict[str, Any] | None
    verdict: VerdictOut | None
    change_verdict: VerdictOut | None
    repeat_scores: list[tuple[str, float | None]] | None = Field(
        description="block and own score of each run, in the order of run_ids; null where unknown"
    )
    share: ShareOut | None
    median: MedianOut | None = Field(
        description="of repeat_scores, six or more: with an interval that asks nothing of their "
        "distribution; else null"
    )
    harmonic_mean: float | None = Field(
        description="of repeat_scores, of a rate with one value a repeat; else null. All work over "
        "all time where each repeat did the same work; where each ran equally long interval.mean is"
    )


class ComparedTable(DeltaTableOut):
    rows: list[ComparedRow]  # type: ignore[assignment]


class CoverageOut(Schema):
    """Cells of a work profile."""

    measured: int
    total: int


class StatusOut(Schema):
    """Who is fastest, by how much and in how many tests."""

    status: str
    leader: str | None
    runner_up: str | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    tests: int
    significant: int
    slower: int


class WorkloadAnswerOut(StatusOut):
    """The answer of one workload; ``more_repeats`` would decide an inconclusive one, or
    ``outlook`` says why none would: tied or too_noisy.
    """

    workload: str
    entries: list[str] = Field(description="fastest first, whether proven or not")
    more_repeats: int | None
    outlook: str | None


class AnswerOut(StatusOut):
    """Who is fastest, as every page says it. ``status`` is faster, equivalent, mixed, inconclusive
    or none; ``leader`` is null unless it is faster. ``ratio`` is the speed of the fastest over that
    of the runner-up, between ``ratio_low`` and ``ratio_high`` at 95%; null of several workloads
    that have no common leader. In ``significant`` of the ``tests`` the fastest is significantly
    ahead (false discovery rate 5%), in ``slower`` significantly behind.
    """

    slower_tests: list[str]
    caveats: list[str] = Field(
        description="page_cache, ceiling_unreliable, timer_resolution, busy_machine, one_block, "
        "conditions_differ, promises_differ, smaller_data_set"
    )
    coverage: CoverageOut | None
    workloads: list[WorkloadAnswerOut]
    sentence: str
    details: list[str]
    basis: str


class TurnOut(Derived, of=MeasuredPeriod):
    """When the runs of a contender were measured."""


class ComparisonOut(Schema):
    """``query`` is canonical: two comparisons with the same one are the same.

    ``run_count`` counts the runs that were considered.
    """

    query: str
    description: str
    by: str
    baseline: str
    rule: str
    margin_percent: float
    equivalence_percent: float
    run_count: int
    answer: AnswerOut
    tables: list[ComparedTable]
    work: list[WorkOut] = Field([], description="where a work profile or a range is asked for")
    measured_in_turn: list[TurnOut] = Field(
        description="where each contender has days of its own: in their order; the day may then "
        "explain a difference as well"
    )
    emulated_left_out: int = Field(
        0, description="series that are not shown, because they were emulated in software"
    )
    links: dict[str, str]


class FindingOut(Derived, of=findings.Finding, without=("parts", "decided_by")):
    """One sentence or two. ``status`` is significant, tie, unknown, alone or not ranked."""

    text: str


class FindingsOut(Schema):
    """``tested`` pairs were tested at once, of the table with most; ``margin_percent`` is null
    where nothing was. ``notes`` say what of the address chooses nothing, and why, and what is left
    out because it was emulated.
    """

    answer: AnswerOut
    summary: list[FindingOut]
    findings: list[FindingOut]
    tested: int
    margin_percent: float | None
    notes: list[str]


class PictureFilters(Filters):
    """The picture, and the comparison that it shows."""

    picture: str = Field("", description=f"{', '.join(KINDS)}; none: bars")
    of: str = Field("", description="the test that it is of; none: the first")
    in_: str = Field("", alias="in", description="the category; none: the first")
    line: list[str] = Field([], description="series of the contenders of a picture of several")
    a: str = Field("", description="series of the contender of a picture of one")
    b: str = Field("", description="series of the other one, of a ratio")
    scale: str = Field("", description="the axis of values of the chart; not of its table")
    show: str = Field("", description=f"of latencies: {', '.join(SHOWS)}; none: what there is")
    percent: str = Field("", description="of latencies over time: 50, 99.9 or max; none: 99")
    hide: list[str] = Field([], description="names of the legend; not of the chart's table")
    record: str = Field("", description="a record size in KB")
    file: str = Field("", description="a file size in KB")


@router.get("/comparison", response=ComparisonOut, summary="A comparison with its verdicts")
@requires(Action.READ)
def get_comparison(
    request: HttpRequest, response: HttpResponse, filters: Query[Filters]
) -> dict[str, Any]:
    """The tables of `/deltas` with everything that is known of each row: the runs behind it and
    its 95% interval. Verdicts say whether it differs from the best and from the `baseline`.
    Without `category` a measured test has one table: its mean, of a matrix its total average.
    """
    answer = _comparison(request, response)
    spec = answer.spec if filters.units else answer.spec.with_default("units")
    query = spec.to_query()
    tail = f"?{query}" if query else ""
    return {
        "query": query,
        "description": describe(spec, answer.choices),
        "by": answer.spec.by,
        "baseline": answer.spec.baseline,
        "rule": answer.spec.rule,
        "margin_percent": answer.spec.margin,
        "equivalence_percent": answer.spec.equivalence,
        "run_count": answer.run_count,
        "answer": _answer(answer),
        "tables": [table_of(table) for table in answer.tables],
        "work": [work_answer.as_dict() for work_answer in answer.work],
        "measured_in_turn": order_over_time(answer.tables, spans_of).turns,
        "emulated_left_out": answer.emulated.left_out if answer.emulated else 0,
        "links": {
            "page": f"/compare/?{spec.on_page.to_query()}",
            "findings": f"/api/v1/findings{tail}",
            **{suffix: f"/api/v1/exports/deltas.{suffix}{tail}" for suffix in FORMATS},
        },
    }


@router.get("/findings", response=FindingsOut, summary="What a comparison says, in sentences")
@requires(Action.READ)
def get_findings(
    request: HttpRequest, response: HttpResponse, filters: Query[Filters]
) -> dict[str, Any]:
    """Every number in them is in the tables; a winner that is not significantly ahead is
    called a tie.
    """
    answer = _comparison(request, response)
    collected = findings.findings_by_test(answer.tables)
    notes = [str(ignored)] if (ignored := set_aside(answer.spec)) else []
    if answer.emulated and answer.emulated.left_out:
        notes.append(answer.emulated.sentence)
    test_findings = [
        finding for test in collected.tests for finding in (test.headline, *test.others)
    ]
    return {
        "answer": _answer(answer),
        "summary": collected.summary,
        "findings": test_findings,
        "tested": collected.tested,
        "margin_percent": collected.margin_percent,
        "notes": notes,
    }


@router.get(
    "/exports/deltas.{str:suffix}",
    summary="A comparison as a file",
    openapi_extra=binary(*[file_format.media_type for file_format in FORMATS.values()]),
)
@requires(Action.READ)
def export_deltas(request: HttpRequest, suffix: str, filters: Query[Filters]) -> HttpResponse:
    """As csv, json, md, tex, xlsx and what else `/compare/export/` offers, for papers and wikis."""
    spec_of(request)
    return refused_as_json(views.comparison_file(request, suffix=suffix, is_for_program=True))


@router.get(
    "/exports/pictures.csv",
    summary="The numbers of a picture",
    openapi_extra=binary("text/csv", description="Unrounded, one line each"),
)
@requires(Action.READ)
def export_picture(request: HttpRequest, filters: Query[PictureFilters]) -> HttpResponse:
    """The parameters are those of the page `/compare/pictures/`: a matrix, its ratio to another,
    curves over loads, scores side by side.
    """
    spec = picture_of(request.GET).comparison
    if spec.baseline:  # the picture is right without it, and a program named it all the same
        limited = bounded_answer(spec, limits.FILE)
        refuse_missing_baseline(limited.spec, delta_tables(limited.spec))
    return refused_as_json(pictures_views.csv_file(request))


def refused_as_json(answer: HttpResponse) -> HttpResponse:
    """What a view of the pages answered; its refusals in the API's own shape."""
    if answer.status_code < 400:
        return answer
    status = 422 if answer.status_code == 400 else answer.status_code
    sentences = [line for line in answer.content.decode().splitlines() if line.strip()]
    raise Refused(status, [(None, sentence) for sentence in sentences])


def _comparison(request: HttpRequest, response: HttpResponse) -> Comparison:
    limited = bounded_answer(spec_of(request), limits.FILE)
    link_to_next(request, response, limited)
    answer = comparison(limited.spec)
    answer = answer if request.GET.get("categories") == "unisys" else answer.by_default
    refuse_missing_baseline(limited.spec, answer.tables)
    return answer


def table_of(table: DeltaTable) -> dict[str, Any]:
    """As ``ComparedTable`` says it."""
    return table.head | {"rows": [_row(table, row) for row in table.rows]}


def _row(table: DeltaTable, row: DeltaRow) -> dict[str, Any]:
    return row.as_dict() | {
        "harmonic_mean": table.harmonic_mean_of(row),
        "median": row.median and row.median.as_dict(),
        "share": row.share and row.share.shown_dict(),
    }


def _answer(answer: Comparison) -> dict[str, Any]:
    found = answer_of(answer.tables, answer.spec.baseline, answer.work)
    return found.as_dict() | {
        "sentence": answer_shown.headline(found),
        "details": answer_shown.details(found),
        "basis": answer_shown.basis(found),
    }
