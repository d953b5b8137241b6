"""What the API says and hears of jobs."""

from datetime import datetime
from typing import Any, Literal

from ninja import Schema
from pydantic import Field, StrictInt

from fsbench_web.api.protocol.schemas import Answer, Page, PageOut, Strict, value_at
from fsbench_web.api.results.studies import OfStudy
from fsbench_web.api.runs.schemas import StackLunOut, Tracers
from fsbench_web.studies.jobs import listing


class DocumentIn(Strict):
    """A job as a document (/guide/api/#jobs): an object, or a text that is YAML or JSON."""

    document: dict[str, Any] | str


class JobDocumentIn(DocumentIn):
    confirm: str = Field(
        "", description="the names of all LUNs that are erased, as the preview's confirm says them"
    )


class PriorityIn(Strict):
    priority: StrictInt = Field(description="-10 to 10; runs of a higher one start first")


class RetryIn(Strict):
    """Which ended runs to submit once more. The LUNs are erased again."""

    confirm: str = Field("", description="the names of the job's LUNs, as its confirm says them")
    states: list[Literal["failed", "lost", "cancelled"]] = ["failed", "lost"]


class PlannedRunOut(Answer):
    """One run as it would be; ``estimated_s`` is null where nothing is known to tell it from.

    ``at_least_s`` is then what the workload's parameters and a guest's boot take; null without.

    ``machine`` is {} for the worker's own executor, else its limits ({"limits": {...}}) and the
    other clients ({"clients": [[worker, LUN], ...]}). A guest has executor, kernel (the name),
    accelerator, memory_bytes and cpus; ``kernel`` is then its version, and ``boot_s`` its boot.
    """

    position: int
    repeat: int
    reference: bool = value_at("is_reference")
    tracing: Tracers
    configuration: str
    filesystem: str
    options: dict[str, str]
    scheduler: str
    journal: str | None = value_at("journal.name", None)
    stack: list[StackLunOut]
    workload: str = value_at("workload_title")
    machine: dict[str, Any]
    kernel: str
    boot_s: float | None
    estimated_s: float | None
    at_least_s: float | None
    basis: str


class LeftOut(Schema):
    place: str
    configuration: str
    reason: str


class NotBegun(Schema):
    """A run that a job's time leaves out: its ``block``, null for a reference; ``run`` is null
    before it is submitted.
    """

    run: int | None
    block: int | None
    configuration: str


class PreviewOut(Schema):
    """What a job would do. ``estimated_s`` is null where any part of it is not known;
    ``at_least_s`` is then what is known of it.

    ``left_out_then`` are the runs that would not end before ``stop_before`` as far as is known now,
    and ``outlook`` says so in words.

    ``document`` is the job with its seed: sent in, it makes these runs in this order. ``notes``
    say what was taken where it says nothing; ``warnings``, where memory or the processors may be
    measured and not the disk.
    """

    runs: list[PlannedRunOut]
    erasures: int
    most_runs: int
    estimated_s: float | None
    estimated_known_s: float
    at_least_s: float | None
    runs_not_known: int
    time_limit_s: int
    start_at: datetime | None
    stop_before: datetime | None
    left_out_then: list[NotBegun]
    outlook: str
    confirm: str
    left_out: list[LeftOut]
    notes: list[str]
    warnings: list[str]
    document: dict[str, Any]


class JobCounts(Schema):
    total: int = value_at("run_count")
    waiting: int = value_at("queued_count")
    running: int = value_at("active_count")
    done: int = value_at("done_count")
    failed: int = value_at("bad_count")
    cancelled: int = value_at("cancelled_count")


_ACTIONS = ("pause", "resume", "cancel", "retry", "priority")


class JobSummary(Answer):
    """``state`` is waiting, running, paused, held (a race that waits for a person) or ended;
    ``failed`` counts lost runs too.
    """

    id: int
    study: str = value_at("study.slug")
    lun: str | None = value_at("lun.name", None)
    worker: str | None = value_at("lun.worker.name", None)
    state: str
    priority: int
    paused_at: datetime | None
    created_by: str | None = value_at("created_by.username", None)
    created_at: datetime
    runs: JobCounts
    links: dict[str, str]

    @staticmethod
    def resolve_state(job: Any) -> str:
        return listing.shown_state_of(job)

    @staticmethod
    def resolve_runs(job: Any) -> Any:
        return job

    @staticmethod
    def resolve_links(job: Any) -> dict[str, str]:
        address = f"/api/v1/jobs/{job.pk}"
        return {
            "self": address,
            **{action: f"{address}/{action}" for action in _ACTIONS},
            "study": f"/api/v1/studies/{job.study.slug}",
            "document": f"/jobs/{job.pk}/document.yaml",
            "page": f"/jobs/{job.pk}/",
        }


class JobRun(Schema):
    """``rerun`` above 0: written by fsbench itself, because ``retry_of`` was interrupted."""

    id: int
    configuration: str
    repeat: int
    reference: bool
    tracing: Tracers
    state: str
    retry_of: int | None
    rerun: int


class ReferenceScore(Schema):
    """The score of one reference run in one test, and its change against the first in percent."""

    run: int
    at: datetime
    test: str
    category: str
    value: float | None
    change_percent: float | None


class ContenderOut(Schema):
    """One of a race: ``state`` is leading, left or out (``why``: behind, slower_half, failed).

    ``ratio`` is of its speed to the leader's in the blocks that both have, between ``ratio_low``
    and ``ratio_high`` (95%, whenever one looks); null where nothing can be said. Where a change is
    looked for ``state`` is before or after (the change), left or out, and ``ratio`` is to the
    oldest kernel of each of its blocks. ``flags`` are those of its score that decides.
    """

    series: int = value_at("series_id")
    configuration: str = value_at("label")
    state: str
    why: str
    reason: str
    blocks: int
    flags: list[str]
    ratio: float | None = value_at("place.ratio")
    ratio_low: float | None
    ratio_high: float | None


class RaceOut(Schema):
    """Where a race stands. ``phase`` is halving, confirming, ended, held (it waits for a person) or
    stopped. Once it has ended, ``conclusion`` says how, with the flags of the scores. ``status`` is
    then that of the two finalists, *faster*, *equivalent* or *inconclusive*, from ``fresh_blocks``
    alone.

    ``find`` is best or change. The change is between the contenders (series) ``before`` and
    ``after``; ``phase`` then begins with ends, and ``ratio`` is of the later to the earlier one.
    """

    find: str = value_at("race.find")
    test: str = value_at("race.test")
    category: str = value_at("race.category")
    unit: str = value_at("race.unit")
    margin_percent: float = value_at("race.margin_percent")
    budget_s: int | None = value_at("race.budget_s")
    budget_runs: int | None = value_at("race.budget_runs")
    spent_s: float = value_at("standing.spent_s")
    spent_runs: int = value_at("standing.spent_runs")
    phase: str
    blocks: int
    leader: str | None
    probability: float | None
    before: int | None
    after: int | None
    status: str | None
    fresh_blocks: int = value_at("of_race.fresh")
    ratio: float | None = value_at("of_race.ratio")
    ratio_low: float | None
    ratio_high: float | None
    ended_at: datetime | None = value_at("race.ended_at")
    conclusion: str
    contenders: list[ContenderOut]


class JobOut(JobSummary):
    """``refusals`` say why runs that wait will not start: who submitted them may not any more.

    ``not_begun`` are the runs that its time left out, ``outlook`` says of those that still wait.
    ``remaining_s`` and ``ends_at`` are null while they are not known, or nothing is left."""

    time_limit_s: int | None
    run_again: int
    probe_s: int
    start_at: datetime | None
    stop_before: datetime | None
    not_begun: list[NotBegun]
    outlook: str
    refusals: list[str]
    share_ended: float
    remaining_s: float | None
    ends_at: datetime | None
    confirm: str
    document: dict[str, Any]
    left_out: list[LeftOut]
    drift: list[ReferenceScore]
    race: RaceOut | None
    planned: list[JobRun]


class JobsOut(PageOut):
    """The same at the old address."""

    sweeps: list[JobSummary] = Field(validation_alias="jobs")


class JobSubmitted(JobSummary):
    """The job that was made; ``planned`` are its runs in turn."""

    planned: list[JobRun]


class CancelledOut(JobSummary):
    """``cancelled_now`` never started; ``asked_to_stop`` run until their worker has tidied up."""

    cancelled_now: int
    asked_to_stop: int


class JobFilters(Page):
    study: OfStudy = Field("", description="slug of a study")
