"""The clients of a run: the workers that measure one network mount at the same time."""

from django.db import models
from django.db.models import Q

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models.runs import Run
from fsbench_web.studies.visibility import Visible


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
