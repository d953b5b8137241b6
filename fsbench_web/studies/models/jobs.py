"""Jobs: what was submitted at once, and how often each of its configurations is repeated."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN
from fsbench_web.studies.models.studies import Study
from fsbench_web.studies.visibility import Visible


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
