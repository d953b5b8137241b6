"""Jobs: what was submitted at once, and how often each of its configurations is repeated."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.catalog.models import Lun
from fsbench_web.platform import clock
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN
from fsbench_web.studies.models.studies import Study
from fsbench_web.studies.visibility import Visible


class Job(models.Model):
    """What was submitted at once, with its runs. ``token`` is the form's, so that two clicks make
    one job. ``document`` is the job as data (studies.jobs.documents.text).
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
    probe_s = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="Seconds, at most, in which the LUN itself is measured before each block; 0: not",
    )
    start_at = models.DateTimeField(null=True, help_text="No run begins before; null: at once")
    stop_before = models.DateTimeField(
        null=True, help_text="No run begins that would not end before; null: no end"
    )
    paused_at = models.DateTimeField(null=True)
    # Null: a command on the host submitted it, and may. So no account with jobs is deleted, which
    # would make them the host's (studies.runs.authority).
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = clock.CreatedAt()

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
    """How often one configuration of a job is repeated, until its scores are sure enough. Jobs with
    a fixed number of repeats have none.
    """

    half_width_percent = models.FloatField(help_text="Of the mean, 95% Student-t")
    least = models.PositiveIntegerField()
    most = models.PositiveIntegerField()
    stopped_at = models.DateTimeField(null=True)
    stop_reason = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"until ± {self.half_width_percent:g}%, {self.least} to {self.most} repeats"


class Race(models.Model):
    """A search of a job for its best configuration, or for the kernel that changed speed.

    ``values`` is the measure of each finished run. ``failed`` is {contender: [blocks before, run,
    why]}. Both stay as they were when they decided.
    """

    class Find(models.TextChoices):
        BEST = "best"
        CHANGE = "change"

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="race")
    find = models.CharField(max_length=10, choices=Find, default=Find.BEST)
    contenders = models.JSONField(
        help_text="Keys of their series, as texts, in the order of the first block; of a change in "
        "that of their kernels"
    )
    seed = models.PositiveBigIntegerField(null=True, help_text="Null: in that order in each block")
    test = models.CharField(max_length=200)
    category = models.CharField(max_length=20)
    unit = models.CharField(max_length=40, blank=True, help_text="Empty until a run has a value")
    budget_s = models.PositiveIntegerField(null=True, help_text="Seconds of runs in all")
    budget_runs = models.PositiveIntegerField(null=True, help_text="Runs in all")
    margin_percent = models.FloatField(help_text="What is less is no difference")
    values = models.JSONField(default=dict)
    failed = models.JSONField(default=dict)
    ended_at = models.DateTimeField(null=True)
    conclusion = models.TextField(blank=True)

    study_path = "job__study"
    objects = Visible()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(budget_s=None, budget_runs__isnull=False)
                | Q(budget_s__isnull=False, budget_runs=None),
                name="race_has_one_budget",
            )
        ]

    def __str__(self) -> str:
        return f"race of job {self.job_id}"
