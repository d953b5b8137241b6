"""Triggers: saved jobs that are ordered again by a schedule, a new kernel or a call."""

from django.conf import settings
from django.db import models

from fsbench_web.accounts.models import ApiToken
from fsbench_web.catalog.models import Lun
from fsbench_web.platform import clock
from fsbench_web.studies.models.jobs import Job


class Trigger(models.Model):
    """A job that fsbench orders again for its owner. ``confirmed``: a digest of the document, and
    the fingerprint of each ``worker/LUN``; empty once one has changed.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="triggers"
    )
    title = models.CharField(max_length=120)
    document = models.JSONField(help_text="The job, without times: studies.jobs.documents")
    lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL, related_name="+")
    confirmed = models.JSONField(default=dict)
    schedule = models.CharField(max_length=100, blank=True, help_text="Cron syntax; empty: none")
    zone = models.CharField(max_length=64, help_text="IANA time zone of schedule and window")
    due_at = models.DateTimeField(null=True, help_text="The next time of the schedule")
    on_kernel = models.BooleanField(default=False, help_text="Ordered for each new kernel")
    kernels = models.JSONField(default=list, help_text="Seen on the worker: [[name, version], ...]")
    opens = models.TimeField(null=True, help_text="Runs begin from then on; null: at any time")
    closes = models.TimeField(null=True, help_text="No run begins that would not end before")
    token = models.OneToOneField(
        ApiToken, null=True, on_delete=models.SET_NULL, related_name="trigger"
    )
    is_active = models.BooleanField(default=True)
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.title


class TriggerOrder(models.Model):
    """What a trigger did on one occasion (``key``): the ``job`` it ordered, or the ``problem``."""

    class Cause(models.TextChoices):
        SCHEDULE = "schedule"
        KERNEL = "kernel", "new kernel"
        WEBHOOK = "webhook"
        PERSON = "person", "by hand"

    class Problem(models.TextChoices):
        NONE = ""
        RUNNING = "running", "the last job still runs"
        VOID = "void", "the job or a LUN has changed since it was confirmed"
        FORBIDDEN = "forbidden", "its owner may not submit it"
        REFUSED = "refused", "the job was refused"

    trigger = models.ForeignKey(
        Trigger, null=True, on_delete=models.SET_NULL, related_name="orders"
    )
    key = models.CharField(max_length=250)
    cause = models.CharField(max_length=10, choices=Cause)
    detail = models.CharField(max_length=200, blank=True, help_text="Which time, kernel or call")
    job = models.OneToOneField(Job, null=True, on_delete=models.SET_NULL, related_name="order")
    problem = models.CharField(max_length=10, blank=True, choices=Problem)
    reasons = models.JSONField(default=list, help_text="Sentences of a refusal")
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["trigger", "key"], name="trigger_order_once")
        ]

    def __str__(self) -> str:
        return f"{self.cause} {self.detail}".strip()
