"""Which LUNs are in use as a disk that another LUN is on too: no page may call one free."""

from collections.abc import Iterable

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.models import Lun, OtherUse, Worker
from runner.safety.lun_identity import shared_disk, unnamed_disk


def disk_of(lun: Lun) -> str:
    """The disk, by worldwide name or as its host knows it; "" where neither is known.

    No other LUN on it may be in use meanwhile: partitions of one disk measure each other.
    """
    if name := shared_disk(lun.fingerprint):
        return name
    disk = unnamed_disk(lun.fingerprint)
    return f"{disk} of {lun.worker.name}"[:200] if disk else ""


def note_other_use(luns: Iterable[Lun]) -> None:
    """Set ``Lun.other_use`` of each that another LUN's run uses as a disk. Two queries at most.

    Read the LUNs with ``select_related("lease")``.
    """
    named = [(lun, name) for lun in luns if (name := disk_of(lun))]
    if not named:
        return
    uses = Worker.objects.filter(
        lease__disk__in={name for _, name in named}, lease__run__isnull=False
    ).values_list("lease__disk", "name", "lease__run", "lease__run__series__study")
    using = {disk: (worker, run, study) for disk, worker, run, study in uses}
    for lun, disk in named:
        if disk not in using:
            continue
        worker, run, study = using[disk]
        lease = getattr(lun, "lease", None)
        if lease is None or lease.run_id != run:
            lun.other_use = OtherUse(worker, None if study in hidden_studies() else run)
