"""Studies, the runs in them, what the runs measured, and the scores made of it."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.catalog.models import (
    Environment,
    FilesystemConfiguration,
    HardwareProfile,
    Lun,
    Worker,
    Workload,
)


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
    hardware = models.ForeignKey(HardwareProfile, null=True, on_delete=models.PROTECT)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-is_published", "title"]

    def __str__(self) -> str:
        return self.title


class Series(models.Model):
    """The repeats of one configuration under the same circumstances in one study.

    Runs are repeats of each other only when workload, hardware, LUN and kernel are the same too.
    ``key`` is a digest of all of them, because a unique constraint ignores rows with nulls.
    """

    key = models.CharField(max_length=64, unique=True)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="series")
    configuration = models.ForeignKey(FilesystemConfiguration, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, null=True, on_delete=models.PROTECT)
    hardware = models.ForeignKey(HardwareProfile, null=True, on_delete=models.PROTECT)
    lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL)
    kernel = models.CharField(max_length=200, blank=True)
    distribution = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name_plural = "series"

    def __str__(self) -> str:
        return f"{self.configuration} in {self.study}"


class RunState(models.TextChoices):
    """The one column that says where a run is. Only studies.lifecycle writes it."""

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


class Submission(models.Model):
    """The runs that one order made. ``token`` is the form's, so that sending it twice makes one."""

    token = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"submission {self.pk}"


class Run(models.Model):
    """One execution of one workload on one configuration, here or somewhere else."""

    class Origin(models.TextChoices):
        MEASURED = "measured"
        IMPORTED = "imported"

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="runs")
    submission = models.ForeignKey(
        Submission, null=True, on_delete=models.SET_NULL, related_name="runs"
    )
    repeat = models.PositiveIntegerField(help_text="1 for the first")
    origin = models.CharField(max_length=10, choices=Origin)
    state = models.CharField(max_length=12, choices=RunState, default=RunState.QUEUED)
    reason = models.TextField(blank=True, help_text="Why the run ended as it did")
    phase = models.CharField(max_length=60, blank=True)
    progress = models.FloatField(default=0, help_text="0 to 1, of the phase running")
    remaining_s = models.FloatField(null=True)
    environment = models.ForeignKey(Environment, null=True, on_delete=models.PROTECT)
    commands = models.JSONField(
        default=list,
        help_text="As run, in order: [{phase, argv, exit_code, duration_s}, ...]",
    )
    cancel_requested_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True, help_text="When the worker was last nudged")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=RunState.values), name="run_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(progress__gte=0) & Q(progress__lte=1), name="run_progress_is_a_share"
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
    """The right of one run to use one LUN. A missing or expired row means the LUN is free.

    ``token`` grows with every lease of the LUN (a fencing token): whatever a worker writes for a
    run carries it, and a write with an older token is refused (studies.lifecycle).
    """

    lun = models.OneToOneField(Lun, on_delete=models.CASCADE, related_name="lease")
    run = models.OneToOneField(Run, null=True, on_delete=models.CASCADE, related_name="lease")
    worker = models.ForeignKey(Worker, null=True, on_delete=models.CASCADE)
    token = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)


class StateChange(models.Model):
    """Every change of a run's state, with its time and its reason."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="changes")
    at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=RunState)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]


class LogLine(models.Model):
    """A line of a run's live log."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="log_lines")
    at = models.DateTimeField()
    stream = models.CharField(max_length=10, help_text="fsbench, stdout or stderr")
    text = models.TextField()

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

    class Meta:
        ordering = ["id"]


class Measurement(models.Model):
    """One number of a run. Rows exist only for numbers that the tool printed."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="measurements")
    artefact = models.ForeignKey(Artefact, null=True, on_delete=models.SET_NULL)
    line = models.PositiveIntegerField(null=True, help_text="Line of the artefact, from 1")
    test = models.CharField(max_length=120)
    load = models.CharField(
        max_length=60, blank=True, help_text="What worked at the same time: threads=8"
    )
    record_size_kb = models.PositiveIntegerField(null=True)
    file_size_kb = models.PositiveBigIntegerField(null=True)
    value = models.FloatField()
    unit = models.CharField(max_length=20)
    samples = models.JSONField(
        null=True, help_text="Values of the intervals in order, where the tool prints them"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "test", "load", "record_size_kb", "file_size_kb"],
                name="measurement_unique_in_run",
            )
        ]


class Score(models.Model):
    """A summary of all finished repeats of one series (scoring.scores), or a published figure.

    A test measured at several loads has scores for each: ``test`` is then the test with its load
    (scoring.testnames.at_load), because scores of two loads never make up one table.
    ``repeats`` is null where a publication does not say how many runs stand behind its figure.
    ``published`` holds what a paper printed beside the score: best, delta1_percent and
    delta2_percent, as text, so that its digits stay as printed.
    """

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="scores")
    test = models.CharField(max_length=190)
    category = models.CharField(max_length=20)
    value = models.FloatField()
    unit = models.CharField(max_length=20)
    repeats = models.PositiveIntegerField(null=True)
    cells = models.PositiveIntegerField(null=True, help_text="Cells the score is made of")
    cells_expected = models.PositiveIntegerField(
        null=True, help_text="Cells of the category's region in the full matrix of the workload"
    )
    published = models.JSONField(null=True)
    flags = models.JSONField(default=list)
    origin = models.CharField(max_length=10, default="computed")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["series", "test", "category"], name="score_unique_in_series"
            )
        ]
        indexes = [models.Index(fields=["test", "category"])]
