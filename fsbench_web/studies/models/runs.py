"""Runs: where each is, what it may use, and what it said and left."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.catalog.models import Environment, Lun, Worker
from fsbench_web.platform import clock
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models.jobs import Job, RepeatRule
from fsbench_web.studies.models.studies import Series
from fsbench_web.studies.visibility import Visible


class RunState(models.TextChoices):
    """The one column that says where a run is. Only studies.runs.lifecycle writes it."""

    QUEUED = "queued"
    LEASED = "leased"
    PREPARING = "preparing"
    RUNNING = "running"
    COLLECTING = "collecting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


ACTIVE_STATES = [RunState.LEASED, RunState.PREPARING, RunState.RUNNING, RunState.COLLECTING]
UNTRACED = ""
"""``Run.tracing`` of the runs that count: queries for finished runs ask for these alone."""
END_STATES = [RunState.DONE, RunState.FAILED, RunState.CANCELLED, RunState.LOST]


class Run(models.Model):
    """One execution of one workload on one configuration, here or somewhere else."""

    class Origin(models.TextChoices):
        MEASURED = "measured"
        IMPORTED = "imported"

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="runs")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="runs")
    repeat = models.PositiveIntegerField(help_text="1 for the first")
    repeat_rule = models.ForeignKey(
        RepeatRule, null=True, on_delete=models.SET_NULL, related_name="runs"
    )
    is_reference = models.BooleanField(
        default=False, help_text="Inserted into a job to show whether the machine drifts"
    )
    # One to one: whoever presses "retry" twice, or at the same time as somebody else, makes one.
    retry_of = models.OneToOneField(
        "self", null=True, on_delete=models.SET_NULL, related_name="retried_as"
    )
    rerun = models.PositiveSmallIntegerField(
        default=0,
        help_text="Above 0: written by fsbench itself for retry_of, which was interrupted; so many "
        "in a row",
    )
    place = models.PositiveBigIntegerField(
        null=True, help_text="Its turn is that of the run of this number; null: of its own"
    )
    block = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text="Runs of a study with the same block were measured beside each other: "
        "everything once before anything again; empty: in none",
    )
    tracing = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text="Of an extra run: what it is traced with (core.traces.tracers), joined by "
        "blanks. Its numbers never count. Empty: an ordinary run",
    )
    confirmed = models.JSONField(
        default=dict,
        help_text="What its LUNs were when somebody typed their names (catalog.lun_identity), by "
        "role; empty: not kept",
    )
    origin = models.CharField(max_length=10, choices=Origin)
    state = models.CharField(max_length=12, choices=RunState, default=RunState.QUEUED)
    reason = models.TextField(blank=True, help_text="Why the run ended as it did")
    cause = models.CharField(
        max_length=20, choices=Cause, blank=True, help_text="The same, of a closed list"
    )
    phase = models.CharField(max_length=60, blank=True)
    progress = models.FloatField(default=0, help_text="0 to 1, of the phase running")
    remaining_s = models.FloatField(null=True)
    environment = models.ForeignKey(Environment, null=True, on_delete=models.PROTECT)
    commands = models.JSONField(
        default=list,
        help_text="As run, in order: [{phase, argv, exit_code, duration_s}, ...]",
    )
    conditions = models.JSONField(
        default=dict,
        help_text="What held for this run alone: load, memory; see runner.execution.conditions",
    )
    is_contended = models.BooleanField(
        default=False, help_text="Another run was active on the same host or controller meanwhile"
    )
    drift_percent = models.FloatField(
        null=True,
        help_text="How far the reference of its job had moved around it; null: not known",
    )
    probe = models.ForeignKey(
        "LunProbe",
        null=True,
        on_delete=models.SET_NULL,
        related_name="runs",
        help_text="What its LUN did by itself in the same block; null: nobody measured that",
    )
    cancel_requested_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,  # as of its job
        related_name="+",
    )
    created_at = clock.CreatedAt()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    measured_at = models.DateTimeField(
        null=True, help_text="Of an imported run: when, as its file says; null: it does not"
    )
    measured_source = models.JSONField(
        default=dict,
        db_default={},
        help_text="What the file says of that: text, line, and assumed_zone, the time zone that "
        "was taken because the text has none; empty: nothing",
    )
    sent_at = models.DateTimeField(null=True, help_text="When the worker was last nudged")

    study_path = "series__study"
    objects = Visible()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=RunState.values), name="run_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(progress__gte=0) & Q(progress__lte=1), name="run_progress_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(cause__in=["", *Cause.values]), name="run_cause_is_known"
            ),
        ]
        indexes = [
            models.Index(fields=["state", "id"]),
            models.Index(fields=["series", "state"]),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def has_ended(self) -> bool:
        return self.state in END_STATES

    @property
    def is_extra(self) -> bool:
        """Whether it was run in addition to those that count, to be traced."""
        return bool(self.tracing)

    @property
    def date(self) -> datetime | None:
        """The date that the run has over time: when it was measured, else that of its import."""
        return self.measured_at or self.ended_at

    @property
    def date_is_of(self) -> str:
        """Where ``date`` is from: the file, the import, or the run itself; empty without one."""
        if self.date is None:
            return ""
        if self.origin == Run.Origin.MEASURED:
            return "run"
        return "file" if self.measured_at else "import"

    @property
    def took_s(self) -> float | None:
        """Seconds from claim to end; None while it runs, and where nobody measured it."""
        if self.started_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.started_at).total_seconds()


class Lease(models.Model):
    """The right of one run to use one LUN, one controller of a host, or one disk of several hosts.

    A row without a run is free. ``token`` grows with every lease (a fencing token): a write with an
    older one is refused (studies.runs.lifecycle).
    """

    lun = models.OneToOneField(Lun, null=True, on_delete=models.CASCADE, related_name="lease")
    host = models.ForeignKey(
        Worker,
        null=True,
        on_delete=models.CASCADE,
        related_name="controller_leases",
        help_text="Whose controller it is; null in the lease of a LUN or disk",
    )
    controller = models.CharField(max_length=200, blank=True)
    disk = models.CharField(
        max_length=200, blank=True, help_text="By its worldwide name (catalog.lun_identity)"
    )
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="leases")
    worker = models.ForeignKey(Worker, null=True, on_delete=models.CASCADE)
    token = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["host", "controller"], name="lease_unique_of_controller"
            ),
            models.UniqueConstraint(
                fields=["disk"], condition=~Q(disk=""), name="lease_unique_of_disk"
            ),
            models.CheckConstraint(
                condition=Q(lun__isnull=False, host=None, controller="", disk="")
                | (Q(lun=None, host__isnull=False, disk="") & ~Q(controller=""))
                | (Q(lun=None, host=None, controller="") & ~Q(disk="")),
                name="lease_of_lun_controller_or_disk",
            ),
        ]


class StateChange(models.Model):
    """Every change of a run's state, with its time and its reason."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="changes")
    at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=RunState)
    reason = models.TextField(blank=True)

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]


class LogLine(models.Model):
    """A line of a run's live log."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="log_lines")
    at = models.DateTimeField()
    stream = models.CharField(max_length=10, help_text="fsbench, stdout or stderr")
    text = models.TextField()

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["run", "id"])]


class Artefact(models.Model):
    """Raw output of a run, kept as it came (gzip). Measurements point to lines of it."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="artefacts")
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=100, default="text/plain; charset=utf-8")
    sha256 = models.CharField(max_length=64)
    size_bytes = models.BigIntegerField(help_text="Before compression")
    content_gzip = models.BinaryField()
    created_at = clock.CreatedAt()

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["sha256"])]


class MeasurementBlock(models.Model):
    """Measurements of a run as columns; studies.scores.measurements alone reads and writes them.

    One output has one block, or several of MOST_IN_BLOCK in the order of their keys. ``flags`` and
    ``samples`` are blocks too. ``count`` and ``tests`` need no block read.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="measurement_blocks")
    artefact = models.ForeignKey(Artefact, null=True, on_delete=models.SET_NULL)
    count = models.PositiveIntegerField(help_text="Numbers")
    tests = models.JSONField(
        help_text="[[test, load, unit, numbers, of these with both sizes], ...] by first number"
    )
    content = models.BinaryField()
    flags = models.BinaryField(
        null=True, help_text="What to know of them, slugs of scoring.quality; null: nothing"
    )
    samples = models.BinaryField(
        null=True, help_text="Values of the intervals in order, where the tool prints them"
    )

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]


class RunActivity(models.Model):
    """What devices, processors and memory did during a run (studies.activity.records). ``content``
    is a block of core.activity.series.
    """

    run = models.OneToOneField(
        Run, primary_key=True, on_delete=models.CASCADE, related_name="activity"
    )
    content = models.BinaryField()
    samples = models.PositiveIntegerField(help_text="Kept")
    seconds = models.FloatField(help_text="From the first to the last")
    is_whole = models.BooleanField(help_text="False: the run broke off, and they with it")
    costs = models.JSONField(
        default=dict,
        help_text="{test: value} of core.activity.costs, those that are known",
    )

    study_path = "run__series__study"
    objects = Visible()


class LatencyBlock(models.Model):
    """Distributions of latencies that one output of a run holds (core.latency), read and written by
    studies.activity.latencies alone.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="latency_blocks")
    artefact = models.ForeignKey(Artefact, null=True, on_delete=models.SET_NULL)
    tests = models.JSONField(help_text="[[test, load, unit, latencies], ...] in their order")
    content = models.BinaryField()

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]


class LatencySeriesBlock(models.Model):
    """Latencies over the seconds of a run, of one output (core.latency_over_time), read and written
    by studies.activity.latencies alone.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="latency_series")
    artefact = models.ForeignKey(Artefact, null=True, on_delete=models.SET_NULL)
    tests = models.JSONField(help_text="[[test, load, unit, intervals], ...] in their order")
    content = models.BinaryField()

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]


class RunTrace(models.Model):
    """What a tracer saw of an extra run (studies.activity.traces); no ``content``: ``problem``."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="traces")
    tracer = models.CharField(max_length=20, help_text="Of core.traces.tracers")
    content = models.BinaryField(null=True)
    problem = models.TextField(blank=True)

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "tracer"], name="run_trace_unique"),
        ]


class LunProbe(models.Model):
    """One measurement of a LUN by fio, before the first file system of a block.

    ``result`` is what the agent printed (core.scoring.ceilings.read_probe), ``state`` what the
    worker read (runner.host.lun_state). ``target``: the stack that was measured instead, or "".
    """

    lun = models.ForeignKey(Lun, on_delete=models.CASCADE, related_name="probes")
    run = models.OneToOneField(
        "studies.Run", null=True, on_delete=models.SET_NULL, related_name="made_probe"
    )
    target = models.CharField(max_length=4000, blank=True, default="", db_default="")
    at = models.DateTimeField()
    state = models.JSONField(default=dict)
    result = models.JSONField()

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["lun", "at"])]

    def __str__(self) -> str:
        return f"probe {self.pk} of {self.lun}"


class ClientState(models.TextChoices):
    """Where a client of a run is. Only studies.runs.clients writes it."""

    ASKED = "asked"
    PREPARING = "preparing"
    READY = "ready"
    MEASURING = "measuring"
    DONE = "done"
    FAILED = "failed"


class RunClient(models.Model):
    """One client of a run of several, its leader first. ``token`` is that of its LUN's lease: once
    the run has lost it, what the client writes is refused.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="clients")
    place = models.PositiveSmallIntegerField(help_text="0: the worker that the run is of")
    worker = models.CharField(max_length=100)
    lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL, related_name="client_of")
    lun_name = models.CharField(max_length=60)
    token = models.PositiveBigIntegerField()
    state = models.CharField(max_length=12, choices=ClientState, default=ClientState.ASKED)
    reason = models.TextField(blank=True, help_text="Why it failed")
    cause = models.CharField(max_length=20, choices=Cause, blank=True)
    seen_at = models.DateTimeField(null=True, help_text="Its last heartbeat")
    start_at = models.DateTimeField(null=True, help_text="When all are to begin")
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    facts = models.JSONField(default=list, help_text="What it ran on: [[label, value], ...]")
    results = models.JSONField(
        default=list,
        help_text="What it measured by itself: "
        "[[test, load, record KB, file KB, value, unit], ...]",
    )
    content = models.BinaryField(
        null=True, help_text="Its outputs, until its leader has stored them (studies.runs.clients)"
    )

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["run", "place"]
        constraints = [
            models.UniqueConstraint(fields=["run", "place"], name="run_client_place_unique"),
            models.CheckConstraint(
                condition=Q(state__in=ClientState.values), name="run_client_state_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker} in run {self.run_id}"
