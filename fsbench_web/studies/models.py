"""Studies, the runs in them, what the runs measured, and the scores made of it."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.catalog.models import (
    Environment,
    FilesystemConfiguration,
    HardwareProfile,
    Lun,
    Worker,
    Workload,
)
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN, Cause
from fsbench_web.studies.visibility import Visible


class Study(models.Model):
    """A named set of runs that belong together: a paper, a campaign."""

    slug = models.SlugField(unique=True, max_length=100)
    title = models.CharField(max_length=200)
    summary = models.TextField(blank=True)
    is_published = models.BooleanField(
        default=False, help_text="A paper whose facts ship with fsbench; takes no further runs"
    )
    authors = models.CharField(max_length=300, blank=True)
    organisation = models.CharField(max_length=200, blank=True)
    published_on = models.CharField(
        max_length=10, blank=True, help_text="As precise as the paper is: 2005-12"
    )
    sections = models.JSONField(
        default=list, help_text="What the study says of itself; see studies.published"
    )
    systems = models.ManyToManyField(
        HardwareProfile,
        related_name="studies",
        help_text="The hardware that a paper names; of runs, their series know it",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.PROTECT, related_name="studies"
    )
    visibility = models.CharField(
        max_length=10, choices=Visibility, default=Visibility.PUBLIC, db_default=Visibility.PUBLIC
    )

    study_path = "pk"
    objects = Visible()

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-is_published", "title"]
        constraints = [
            models.CheckConstraint(
                condition=Q(visibility__in=Visibility.values), name="study_visibility_is_known"
            ),
            models.CheckConstraint(
                condition=Q(is_published=False) | Q(visibility=Visibility.PUBLIC),
                name="study_published_is_public",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Series(models.Model):
    """The repeats of one configuration under the same circumstances in one study.

    Runs are repeats of each other only when workload, hardware, LUNs, kernel and machine (a guest
    with its memory, or the worker's own executor) are the same too.
    ``key`` is a digest of all of them, because a unique constraint ignores rows with nulls.
    """

    key = models.CharField(max_length=64, unique=True)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="series")
    configuration = models.ForeignKey(FilesystemConfiguration, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, null=True, on_delete=models.PROTECT)
    hardware = models.ForeignKey(HardwareProfile, null=True, on_delete=models.PROTECT)
    lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL)
    journal_lun = models.ForeignKey(
        Lun,
        null=True,
        on_delete=models.SET_NULL,
        related_name="journal_series",
        help_text="Where the journal is kept; null: on the LUN itself",
    )
    kernel = models.CharField(max_length=200, blank=True)
    distribution = models.CharField(max_length=200, blank=True)
    preparation = models.JSONField(
        default=dict, help_text="catalog.preparation; empty: a new file system and nothing more"
    )
    machine = models.JSONField(
        default=dict, help_text="catalog.machines; empty: the worker's own executor"
    )
    quality = models.JSONField(
        null=True,
        help_text="What its cells were judged by, studies.quality; null: they never were",
    )

    study_path = "study"
    objects = Visible()

    class Meta:
        verbose_name_plural = "series"

    def __str__(self) -> str:
        return f"{self.configuration} in {self.study}"

    @property
    def runs_on(self) -> Machine:
        """The guest that its runs are run in, or the worker's own executor."""
        return Machine.of(self.machine)


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
END_STATES = [RunState.DONE, RunState.FAILED, RunState.CANCELLED, RunState.LOST]


class Job(models.Model):
    """A job: what was submitted at once and its runs, as it was planned and as it is steered.

    ``token`` is the form's, so that sending it twice makes one. ``document`` is the job as data
    (studies.jobs.documents.text); a job that is written down from it is the same job.
    """

    token = models.CharField(max_length=64, unique=True)
    body_sha256 = models.CharField(
        max_length=64,
        blank=True,
        help_text="Of the call that submitted; empty: no call, or none kept",
    )
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="jobs")
    lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL, related_name="+")
    document = models.JSONField(default=dict)
    left_out = models.JSONField(
        default=list, help_text="Combinations that cannot be: [[place, configuration, why], ...]"
    )
    priority = models.SmallIntegerField(default=0, help_text="-10 to 10; higher is run first")
    time_limit_s = models.PositiveIntegerField(
        null=True, help_text="Of one whole run, in seconds; null: none but those of its steps"
    )
    run_again = models.PositiveSmallIntegerField(
        default=DEFAULT_RUN_AGAIN,
        help_text="How often in a row a run that was interrupted (studies.causes) is run again by "
        "itself",
    )
    paused_at = models.DateTimeField(null=True)
    # Null: a command on the host submitted it, and may. So no account with jobs is deleted, which
    # would make them the host's (studies.runs.authority).
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    study_path = "study"
    objects = Visible()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(priority__gte=-10) & Q(priority__lte=10),
                name="job_priority_is_in_bounds",
            )
        ]

    def __str__(self) -> str:
        return f"job {self.pk}"


class RepeatRule(models.Model):
    """How often one configuration of a job is repeated: until its scores are sure enough.

    ``studies.runs.lifecycle`` writes the next run when one ends (scoring.confidence decides), and
    the reason when it stops. Jobs with a fixed number of repeats have no rule.
    """

    half_width_percent = models.FloatField(help_text="Of the mean, 95% Student-t")
    least = models.PositiveIntegerField()
    most = models.PositiveIntegerField()
    stopped_at = models.DateTimeField(null=True)
    stop_reason = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"until ± {self.half_width_percent:g}%, {self.least} to {self.most} repeats"


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
    cancel_requested_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,  # as of its job
        related_name="+",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
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
    def took_s(self) -> float | None:
        """Seconds from claim to end; None while it runs, and where nobody measured it."""
        if self.started_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.started_at).total_seconds()


class Lease(models.Model):
    """The right of one run to use one LUN, or one controller of a host.

    A run holds one for its data LUN, one for its journal LUN if it has one, and one for each
    controller that these are on where the host's file names it. A row without a run, or none, means
    that the LUN or controller is free. ``token`` grows with every lease of the row (a fencing
    token): whatever a worker writes for a run carries the tokens of all its leases, and a write
    with an older one is refused (studies.runs.lifecycle).
    """

    lun = models.OneToOneField(Lun, null=True, on_delete=models.CASCADE, related_name="lease")
    host = models.ForeignKey(
        Worker,
        null=True,
        on_delete=models.CASCADE,
        related_name="controller_leases",
        help_text="Whose controller it is; null in the lease of a LUN",
    )
    controller = models.CharField(max_length=200, blank=True)
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="leases")
    worker = models.ForeignKey(Worker, null=True, on_delete=models.CASCADE)
    token = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["host", "controller"], name="lease_unique_of_controller"
            ),
            models.CheckConstraint(
                condition=Q(lun__isnull=False, host=None, controller="")
                | (Q(lun=None, host__isnull=False) & ~Q(controller="")),
                name="lease_of_lun_or_controller",
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
    created_at = models.DateTimeField(auto_now_add=True)

    study_path = "run__series__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]


class MeasurementBlock(models.Model):
    """Measurements of a run as columns (core.measurement_columns), read and written by
    studies.scores.measurements alone.

    Those of one output are a block, or several of MOST_IN_BLOCK each; in the order of their keys
    they are in the order in which they were stored. ``flags`` and ``samples`` are blocks too, so
    that judging a number again does not write it again. ``count`` and ``tests`` are what can be
    told of them without reading one.
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


class WholeScores(Visible["Score"]):
    """The scores that leave nothing out, which is what a score is unless somebody asks otherwise.

    This is the default manager, so that no page, count or relation shows a score of some of the
    cells by forgetting to say that it does not want it. ``Score.selections`` has all of them.
    """

    def get_queryset(self) -> models.QuerySet["Score"]:
        return super().get_queryset().filter(selection=Selection.ALL)


class Selection(models.TextChoices):
    """Which cells a score is made of; studies.scores.selections makes them."""

    ALL = "all", "every cell"
    SOUND = "sound", "without flagged cells"
    CACHED = "cached", "files that fit into the cache"
    UNCACHED = "uncached", "files beyond the cache"


COMPUTED = "computed"
"""Where a score comes from that was made of measurements."""


class Score(models.Model):
    """A summary of all finished repeats of one series (scoring.scores), or a published figure.

    ``Score.objects`` and ``series.scores`` are the scores that leave nothing out. Those of a
    ``selection`` of the cells stand beside them in ``Score.selections``; a selection that leaves
    nothing of a category has no score there. ``left_out`` says what a selection is without in the
    category's region, and why: {"cells": 10, "numbers": 12, "of": 60, "why": {"clock": 10,
    "outlier": 2}} is ten cells without any number left, and twelve of the sixty numbers of all
    repeats. A number counts for each of its reasons.

    A test measured at several loads has scores for each: ``test`` is then the test with its load
    (scoring.testnames.at_load), because scores of two loads never make up one table.
    ``repeats`` is null where a publication does not say how many runs stand behind its figure.
    ``run_ids`` are the finished runs that gave it a number, oldest first: as many as ``repeats``.
    ``published`` holds what a paper printed beside the score: best, delta1_percent and
    delta2_percent, as text, so that its digits stay as printed.
    """

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="scores")
    test = models.CharField(max_length=190)
    category = models.CharField(max_length=20)
    selection = models.CharField(max_length=10, choices=Selection, default=Selection.ALL)
    value = models.FloatField()
    unit = models.CharField(max_length=20)
    repeats = models.PositiveIntegerField(null=True)
    run_ids = models.JSONField(
        null=True,
        help_text="Null: of a publication, or of before they were kept (manage.py reflag)",
    )
    half_width = models.FloatField(
        null=True,
        help_text="Of the 95% interval of the repeats' own scores, in unit; null below two repeats",
    )
    half_width_percent = models.FloatField(
        null=True, help_text="The same in percent of the mean of the repeats' own scores"
    )
    interval = models.JSONField(
        null=True,
        help_text="What the 95% interval is of (confidence.Interval.as_dict): repeats, or "
        "samples of a single run; null where there is none, and in scores of before it was "
        "kept",
    )
    cells = models.PositiveIntegerField(null=True, help_text="Cells the score is made of")
    cells_expected = models.PositiveIntegerField(
        null=True, help_text="Cells of the category's region in the full matrix of the workload"
    )
    left_out = models.JSONField(null=True)
    published = models.JSONField(null=True)
    flags = models.JSONField(default=list)
    origin = models.CharField(max_length=10, default=COMPUTED)

    objects = WholeScores()
    selections = Visible()
    study_path = "series__study"

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["series", "test", "category", "selection"], name="score_unique_in_series"
            )
        ]
        indexes = [
            # Nearly every page asks for the scores of all cells: three of four are of selections.
            models.Index(fields=["test", "category", "selection"]),
            models.Index(
                fields=["series"], condition=models.Q(selection="all"), name="score_of_all_cells"
            ),
            # Few, and asked for beside many that are not.
            models.Index(
                fields=["test", "category"],
                condition=models.Q(published__isnull=False),
                name="score_printed",
            ),
        ]
