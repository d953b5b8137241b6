"""What LUNs themselves did, without a file system, in the blocks of jobs."""

from django.db import models

from fsbench_web.catalog.models import Lun


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
