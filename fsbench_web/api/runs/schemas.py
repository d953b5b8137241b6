"""What the API says and hears of runs."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from django.db.models import Q, QuerySet
from ninja import Schema
from pydantic import BeforeValidator, Field

from fsbench_web.api.protocol.schemas import (
    LARGEST_ID,
    Answer,
    Derived,
    IsThere,
    Lookup,
    Page,
    PageOut,
    Strict,
    value_at,
)
from fsbench_web.api.results.deltas import ShareOut
from fsbench_web.api.results.studies import RunConfiguration, study_or_404
from fsbench_web.catalog.configurations.stacks import members_in
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.core.workloads import presets
from fsbench_web.studies.jobs.spec import Configuration, JobOptions, ParameterValues
from fsbench_web.studies.models import Run, RunState, Series, StackLun
from fsbench_web.studies.runs.logs import LoggedLine

MOST_LINES = 10_000


def _object(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError(
            f"an entry is an object: write {json.dumps({'filesystem': value[:60]})}, with "
            "options, scheduler and journal if any (a job's document takes the bare name)"
        )
    return value


class JobIn(Strict, JobOptions):
    """What to run. Every configuration is run ``repeats`` times on the LUN, which is erased."""

    study: str = Field(description="slug of a study, or the title of one to be made")
    lun: str = Field(description="the LUN's name")
    worker: str = Field("", description="the LUN's worker, where several have one of that name")
    configurations: list[Annotated[Configuration, BeforeValidator(_object)]] = Field(
        max_length=1000, description="each is run in turn, then all of them again"
    )
    workload: str = Field(description=", ".join(presets()), examples=["iozone-small"])
    parameters: ParameterValues = Field(
        {}, description="replace those of the workload", examples=[{"maximum_file_kb": 1024}]
    )
    confirm: str = Field(
        "",
        description="the LUN's name once more, and behind it those of all journals and of all "
        "other LUNs of its stacks, with a space between them: all data on them will be lost",
    )


class StackLunOut(Schema):
    """``role`` is data, log, cache or special."""

    role: str
    lun: str


def _members(stack_luns: str) -> list[dict[str, str]]:
    return [{"role": role, "lun": name} for role, name in members_in(stack_luns)]


StackLuns = Annotated[list[StackLunOut], BeforeValidator(_members)]
"""The other LUNs of a series' stack, of ``Series.stack_luns``."""
Tracers = Annotated[
    list[str],
    BeforeValidator(str.split),
    Field(description="of an extra run, which counts in no score"),
]


class ClientResultOut(Schema):
    """What one client measured, as its tool printed it."""

    test: str
    load: str
    record_size_kb: int | None
    file_size_kb: int | None
    value: float
    unit: str


class ClientOut(Schema):
    """A worker that measured with others: ``state`` is asked, preparing, ready, measuring, done or
    failed, with the ``reason``. ``results`` are the first 300 of its values.
    """

    worker: str
    lun: str
    leads: bool
    state: str
    reason: str
    began_at: datetime | None
    ended_at: datetime | None
    facts: list[tuple[str, str]]
    results: list[ClientResultOut]


class RunSummary(Answer):
    """``progress`` is 0 to 1 of the phase running; ``remaining_s`` null while nobody knows.

    ``cause`` is why it did not end as done, one of a closed list, "" for all others. ``retry_of``
    is the run that it replaces, ``retried_as`` the one that replaces it. ``rerun`` counts how often
    in a row fsbench did so because ``retry_of`` was interrupted.

    ``machine`` is {} for the worker's own executor, else its limits ({"limits": {...}}) and the
    other clients ({"clients": [[worker, LUN], ...]}), or that of the guest. ``emulated``: it ran in
    software, for function and not for speed.
    """

    id: int
    study: str = value_at("series.study.slug")
    configuration: RunConfiguration = value_at("series.configuration")
    workload: str | None = value_at("series.workload.slug", None)
    lun: str | None = value_at("series.lun.name", None)
    journal: str | None = value_at("series.journal_lun.name", None)
    stack: StackLuns = value_at("series.stack_luns")
    worker: str | None = value_at("series.lun.worker.name", None)
    repeat: int
    block: str
    job: int | None = value_at("job_id")
    sweep: int | None = value_at("job_id", description="the same as `job`, as it was called first")
    reference: bool = value_at("is_reference")
    tracing: Tracers = Field(
        description="of an extra run: what it is traced with; its numbers count in no score"
    )
    retry_of: int | None = value_at("retry_of_id")
    retried_as: int | None = value_at("again_as")
    rerun: int
    contended: bool = value_at("is_contended")
    preparation: dict[str, Any] = value_at("series.preparation")
    machine: dict[str, Any] = value_at("series.machine")
    emulated: bool = value_at("series.runs_on.is_emulated")
    origin: str
    state: str
    reason: str
    cause: str
    phase: str
    progress: float
    remaining_s: float | None
    cancel_requested: IsThere = value_at("cancel_requested_at")
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    date: datetime | None = Field(description="what lines over time go by")
    date_is_of: str = Field(
        description="file: when it was measured, as its file says; import: its file does not say, "
        "it is when it was imported; run: when fsbench ended it; empty: it has not ended"
    )
    date_source: dict[str, Any] = value_at(
        "measured_source",
        description="of a date of the file: its text and line, and assumed_zone, the time zone "
        "that was taken because the text names none",
    )
    links: dict[str, str]

    @staticmethod
    def resolve_links(run: Run) -> dict[str, str]:
        address = f"/api/v1/runs/{run.pk}"
        return {
            "self": address,
            "log": f"{address}/log",
            "cancel": f"{address}/cancel",
            "study": f"/api/v1/studies/{run.series.study.slug}",
            "page": f"/runs/{run.pk}/",
        }


class ScoreOut(Schema):
    """A score of all finished repeats of this run's configuration under its circumstances.

    ``half_width`` is of the 95% interval of the repeats' own scores, in the score's unit and in
    percent of their mean; null below two repeats. ``interval`` is the one that the run's page
    shows: {mean, half_width, count, of, autocorrelation}, ``of`` repeats, samples or trials.
    """

    test: str
    category: str
    value: float
    unit: str
    repeats: int | None
    half_width: float | None
    half_width_percent: float | None
    interval: dict[str, Any] | None
    cells: int | None
    cells_expected: int | None
    flags: list[str]
    share: ShareOut | None


class RunScoreOut(ScoreOut):
    """A score of all finished repeats, and this run's own.

    ``run_value`` is the run's own score, null if it gave no number or if it was not kept.
    ``repeats_mean`` is the mean of the repeats' own scores. ``percent_from_mean`` is how far the
    run is above it (negative: below); null for a single repeat.
    """

    run_value: float | None
    repeats_mean: float | None
    percent_from_mean: float | None


class StateChangeOut(Schema):
    at: datetime
    state: str
    reason: str


class RepeatRuleOut(Derived, of=RepeatTarget):
    """``stop_reason`` says why no further repeat follows; empty while one may."""

    stop_reason: str


class RunOut(RunSummary):
    """``commands`` as run; ``scores`` are empty until the run is done, and the first 2,000 of
    ``scores_total``: `/series/{id}` has all, part by part.

    ``conditions`` is what held for this run alone: load, memory, the device's statistics, and in
    ``others`` the runs that were active meanwhile. ``refusal`` says why a run that waits will not
    start: who submitted it may not any more. ``confirmed`` is what its LUNs were when somebody
    confirmed them, by role: another device is not erased.
    """

    refusal: str
    confirmed: dict[str, Any]

    conditions: dict[str, Any]
    clients: list[ClientOut] = Field(
        description="of a run of several clients, its leader first; empty of any other"
    )
    repeat_rule: RepeatRuleOut | None

    kernel: str = value_at("series.kernel")
    distribution: str = value_at("series.distribution")
    commands: list[dict[str, Any]]
    changes: list[StateChangeOut]
    scores: list[RunScoreOut]
    scores_total: int


class RunsOut(PageOut):
    """A page of runs, newest first; ``total`` counts all that match."""

    runs: list[RunSummary]


class Submitted(Schema):
    """The runs that were made, in the order in which they will be run."""

    study: str
    runs: list[RunSummary]


class LogLineOut(Derived, of=LoggedLine): ...


class LogOut(Schema):
    """``after`` is what to ask for next; ``more`` says that further lines are there already."""

    run: int
    state: str
    lines: list[LogLineOut]
    after: int
    more: bool


def series_on(lun: str) -> QuerySet[Series]:
    """The series that have a LUN of this name in any role."""
    of_stack = StackLun.objects.filter(lun__name=lun).values("series")
    is_used = Q(lun__name=lun) | Q(journal_lun__name=lun) | Q(pk__in=of_stack)
    return Series.objects.filter(is_used).order_by()


class RunFilters(Page):
    study: Annotated[str, Lookup("series__study", study_or_404)] = Field(
        "", description="slug of a study"
    )
    state: Annotated[list[RunState], Lookup("state__in")] = Field([], description="may be repeated")
    filesystem: Annotated[str, Lookup("series__configuration__filesystem")] = Field(
        "", description="ext4, xfs, ..."
    )
    workload: Annotated[str, Lookup("series__workload__slug")] = Field(
        "", description="slug of a workload"
    )
    worker: Annotated[str, Lookup("series__lun__worker__name")] = Field(
        "", description="name of a worker"
    )
    lun: Annotated[str, Lookup("series__in", series_on)] = Field(
        "", description="name of a LUN, whatever its role is"
    )
    job: Annotated[int | None, Lookup("job")] = Field(
        None, ge=1, le=LARGEST_ID, description="number of a job"
    )
    sweep: Annotated[int | None, Lookup("job")] = Field(
        None, ge=1, le=LARGEST_ID, description="the same as `job`"
    )
    series: Annotated[int | None, Lookup("series")] = Field(None, ge=1, le=LARGEST_ID)


class LogFilters(Schema):
    after: int = Field(0, ge=0, le=LARGEST_ID, description="only lines with a larger id")
    limit: int = Field(1000, ge=1, le=MOST_LINES)
    format: Literal["json", "text"] = Field("json", description="text: all lines as plain text")
