"""What LUNs themselves did, without a file system, in the blocks of jobs."""

from django.db import models

from fsbench_web.catalog.models import Lun


class LunProbe(models.Model):
    """One measurement of a LUN by fio, right before the first file system of a block was made.

    It is told of the LUN, whoever may see the study that it was made for; ``run`` is the run that
    made it. ``result`` is what the agent printed (core.scoring.ceilings.read_probe), ``state`` what
    the worker read of the device before (runner.host.lun_state). ``target`` is empty, or says the
    stack of which the one device was measured that layers make of several LUNs, ``lun`` the first
    of them: that is no measurement of the LUN, and in no ledger.
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
