"""Delta tables: the rows of the comparison pages, as JSON and as CSV."""

from collections.abc import Collection
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.router import Router, binary
from fsbench_web.api.protocol.schemas import Derived
from fsbench_web.api.results.studies import WorkFilters, no_study
from fsbench_web.compare.selection.spec import ComparisonSpec, set_aside
from fsbench_web.compare.tables import csv
from fsbench_web.compare.tables.bounds import BoundedComparison, bounded_answer
from fsbench_web.compare.tables.delta_tables import (
    Comparison,
    comparison,
    refuse_missing_baseline,
)
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring.deltas import Delta
from fsbench_web.core.scoring.profiles.coverage import (
    Coverage,
    NearestCell,
    NearestValue,
    PartWords,
    WorkAnswer,
)
from fsbench_web.core.scoring.shares import Share
from fsbench_web.studies.models import Study

router = Router()


class Filters(WorkFilters):
    """Every filter may be repeated; one that is left out takes all. The same words as on the
    comparison page: its query string can be used here.
    """

    study: list[str] = Field([], description="slugs of studies; none: all studies together")
    by: str = Field(
        "filesystem",
        description="what is ranked: filesystem, configuration, kernel, distribution, hardware, "
        "lun, journal_lun, stack, stack_luns, scheduler, journal, mkfs, mount, workload, study, "
        "preparation, machine, or one option as option.atime",
    )
    test: list[str] = Field([], description="write, rewrite, read, reread, random_write, ...")
    category: list[str] = Field([], description="maximum, minimum, total_average, ..., overall")
    categories: str = Field(
        "",
        description="unisys: all categories of the Unisys paper, where one measure is the default",
    )
    filesystem: list[str] = Field([], description="ext4, xfs, ...")
    workload: list[str] = Field([], description="slugs of workloads")
    hardware: list[str] = Field([], description="slugs of hardware profiles")
    configuration: list[str] = Field([], description="labels, in lower case")
    kernel: list[str] = Field([], description="in lower case, spaces as -; unknown where it is")
    distribution: list[str] = Field([], description="likewise")
    lun: list[str] = Field([], description="likewise: nvme0n1-on-bench-1")
    scheduler: list[str] = Field([], description="mq-deadline, ...; default, unknown")
    journal: list[str] = Field([], description="internal, external or unknown")
    mkfs: list[str] = Field(
        [],
        description="options as block_size=4096: a configuration has every one (of several "
        "values of one option, any); defaults, unknown",
    )
    mount: list[str] = Field([], description="likewise: journal_mode=writeback")
    preparation: list[str] = Field([], description="plain, discarded, ...")
    machine: list[str] = Field([], description="own (no guest), guest-kvm-1-gib-2-cpus, ...")
    emulated: str = Field(
        "", description="out, with or only; none: emulated results where there is nothing else"
    )
    papers: str = Field(
        "",
        description="where no study is named: no, yes or only; none: published papers as well",
    )
    matched: str = Field("", description="1: only cells that all contenders of a table have")
    units: str = Field(
        "",
        description="binary (MiB/s) or decimal (MB/s): scores of one test in one unit, converted "
        "exactly, with `printed_score` and `printed_unit` as well; printed or none: as printed",
    )
    sort: str = Field("", description="the order on the page; here rows are worst first")
    rule: str = Field("", description="freenix: the rule of FREENIX 2002; none: of ratios")
    margin: str = Field("", description="percent of that rule by which means must differ; none: 10")
    equivalence: str = Field("", description="percent below which a difference is none; none: 2")
    min_runs: str = Field("", description="runs behind a score, at least")
    part_test: list[str] = Field(
        [],
        description="only the tables of these tests, as they stand in the whole comparison: "
        "verdicts are corrected over all of it",
    )
    part_category: list[str] = Field([], description="likewise")
    from_test: str = Field(
        "",
        description="of a comparison that is more than one answer holds (10,000 rows): the tests "
        "from this one on, 1 being the first, as many as fit. `Link` leads to the next part. Of "
        "more than 10,000 rows each part has its own ranks",
    )
    from_row: str = Field("", description="likewise the scores of a single table, best first")


class PublishedOut(Derived, of=Delta):
    """What the paper printed next to the score. ``differs`` names what does not follow from its
    own table by more than rounding (0.01 percentage points).
    """

    differs: list[str]


class ShareOut(Schema):
    """What a score is of the speed of its LUN alone, in percent; ``ceiling`` is that speed in the
    score's unit, ``of`` names the requests, and ``probes`` how many blocks it is the mean
    of. ``spread_percent`` is the 95% half-width of the least sure point behind it; null: there was
    one burst. ``is_between``: not exactly this was measured, it is taken from the nearest.
    ``percent`` is null where ``is_unreliable``: above 105, or of probes that differ by over 10%.
    """

    percent: float | None
    ceiling: float
    of: str
    probes: int
    spread_percent: float | None
    is_between: bool
    is_unreliable: bool

    @staticmethod
    def resolve_percent(share: Share | dict[str, Any]) -> float | None:
        """Of a share, or of what ``Share.shown_dict`` gives."""
        percent: float | None = (
            share.shown_percent if isinstance(share, Share) else share["percent"]
        )
        return percent


class DeltaRowOut(Schema):
    """One contender. Deltas are percent, null where they would divide by zero; ``runs`` is null
    where a publication does not say how many stand behind its figure. ``change_percent`` is there
    when a baseline is asked for: by how much faster than that, null in a table without it.
    ``printed_score`` and ``printed_unit`` are there when `units` are asked for: what was converted.
    """

    contender: str
    configuration: str | None
    score: float
    best: bool
    delta1_percent: float | None
    delta2_percent: float | None
    runs: int | None
    published: PublishedOut | None
    flags: list[str]
    change_percent: float | None = None
    printed_score: float | None = None
    printed_unit: str | None = None


class DeltaTableOut(Schema):
    """One test and category; rows worst first, ties all marked best.

    ``summed_unit`` is there where an overall score was made of rates in another unit than the other
    tables', ``is_unexplained`` where nobody knows what KB are, and `units` were asked for.
    """

    test: str
    category: str
    unit: str
    summed_unit: str = ""
    is_unexplained: bool = False
    lower_is_better: bool
    rows: list[DeltaRowOut]


class WorkPartOut(Derived, of=PartWords):
    """A part in words, its share in percent, and how many of its cells anybody measured."""


class WorkCoverageOut(Derived, of=Coverage, without=("label",)):
    """How many cells a contender has; ``why`` it has no score, empty where it has one."""


class NearValueOut(Derived, of=NearestValue, without=("base", "label")):
    """The best that a contender measured of the nearest cell."""


class NearestOut(Derived, of=NearestCell, without=("values",)):
    """The measured cell nearest to those of an operation that nobody measured, best first; no
    values where nothing was measured so at any size.
    """

    values: list[NearValueOut]


_OTHERWISE = (
    *("is_baseline_chosen", "baseline_missing", "source"),
    *("unceiled", "apart", "notes", "parts", "coverage", "nearest"),
)


class WorkOut(Derived, of=WorkAnswer, without=_OTHERWISE):
    """What of a work profile, or of a range, was measured: of ``of`` cells ``measured`` by any
    contender and ``by_all`` by every one. A contender that lacks a cell is in no table. Ratios are
    to ``baseline``.
    """

    headline: str
    unceiled: list[str] = Field(
        [], description="contenders without a share of their LUN: how many cells have no ceiling"
    )
    apart: int = Field(
        0,
        description="contenders with cells of workloads that measure in different ways; these "
        "are not combined",
    )
    notes: list[str] = Field([], description="codes: smaller_data_set")
    parts: list[WorkPartOut]
    coverage: list[WorkCoverageOut]
    nearest: list[NearestOut]


class Deltas(Schema):
    """``work`` is there when a profile or a range is asked for. ``emulated_left_out`` is how many
    series are not shown because they were emulated; the key is there only where any are. So is
    ``notes``: what of the address chooses nothing, and why.
    """

    tables: list[DeltaTableOut]
    work: list[WorkOut] = []
    emulated_left_out: int = 0
    notes: list[str] = []


@router.get("/deltas", response=Deltas, summary="Delta tables", exclude_unset=True)
@requires(Action.READ)
def deltas(request: HttpRequest, response: HttpResponse, filters: Query[Filters]) -> dict[str, Any]:
    """Delta tables of the scores that match, recomputed and unrounded, next to what was printed.

    `delta1_percent = (best - score) / best`, `delta2_percent = (score - best) / score`; of the
    reciprocals where lower is better. A score leaves no run and no cell out. Complete up to
    10,000 rows; what is more is refused unless it is asked for in parts (`from_test`).
    """
    left_out = set()
    if not filters.baseline:
        left_out.add("change_percent")
    if not filters.units:
        left_out |= {"printed_score", "printed_unit"}
    compared = _comparison_of_request(request, response)
    answer: dict[str, Any] = {"tables": [_table(table, left_out) for table in compared.tables]}
    if compared.work:
        answer["work"] = [work_answer.as_dict() for work_answer in compared.work]
    if compared.emulated is not None and compared.emulated.left_out:
        answer["emulated_left_out"] = compared.emulated.left_out
    if ignored := set_aside(ComparisonSpec.of_address(comparison_query(request))):
        answer["notes"] = [str(ignored)]
    return answer


@router.get(
    "/deltas.csv",
    response=str,
    summary="Delta tables as CSV",
    openapi_extra=binary("text/csv", description="text/csv"),
)
@requires(Action.READ)
def deltas_csv(request: HttpRequest, filters: Query[Filters]) -> HttpResponse:
    """The same rows, one line each. What is missing is an empty cell, `best` is true or false,
    flags are joined by `;`, and printed deltas keep the digits of the paper.
    """
    answer = HttpResponse(
        content_type=csv.MEDIA_TYPE,
        headers={"Content-Disposition": 'inline; filename="deltas.csv"'},
    )
    answer.content = csv.write(_comparison_of_request(request, answer).tables).encode()
    return answer


def _comparison_of_request(request: HttpRequest, response: HttpResponse) -> Comparison:
    """The comparison of the request's own query string, which the page would read the same way.

    Where they are a part, ``Link`` of the answer leads to the next.
    """
    limited = bounded_answer(spec_of(request))
    link_to_next(request, response, limited)
    compared = comparison(limited.spec)
    refuse_missing_baseline(limited.spec, compared.tables)
    return compared


def link_to_next(request: HttpRequest, response: HttpResponse, limited: BoundedComparison) -> None:
    """``Link`` (RFC 8288) to the part after this one, where there is one."""
    if limited.next_part is not None:
        response["Link"] = f'<{request.path}?{limited.next_part.to_query()}>; rel="next"'


def comparison_query(request: HttpRequest) -> QueryDict:
    """The query without ``categories``, which chooses tables and not scores."""
    query = request.GET.copy()
    query.pop("categories", None)
    return query


def spec_of(request: HttpRequest) -> ComparisonSpec:
    """The comparison of the address. Raises SpecError, and Http404 without the study."""
    spec = ComparisonSpec.of_address(comparison_query(request)).for_programs
    known_slugs = set(Study.objects.filter(slug__in=spec.studies).values_list("slug", flat=True))
    for slug in spec.studies:
        if slug not in known_slugs:
            raise Http404(no_study(slug))
    return spec


def _table(table: DeltaTable, left_out: Collection[str]) -> dict[str, Any]:
    """Of its rows what was asked for: where a score comes from is on the page and in the study."""
    rows = [row.as_dict() for row in table.rows]
    return table.head | {
        "rows": [
            {name: value for name, value in row.items() if name not in left_out} for row in rows
        ]
    }
