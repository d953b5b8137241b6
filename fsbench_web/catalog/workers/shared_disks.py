"""Which LUNs are in use as a disk that another worker lists too: no page may call one free."""

from collections.abc import Iterable

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.models import Lun, OtherUse, Worker
from fsbench_web.catalog.workers.lun_identity import shared_disk


def note_other_use(luns: Iterable[Lun]) -> None:
    """Set ``Lun.other_use`` of each. One query where any has a worldwide name, else none; one
    more where a run has one of these.

    A LUN that the run itself leases is in use as what it is, and not noted; so the LUNs are best
    read with ``select_related("lease")``.
    """
    named = [(lun, name) for lun in luns if (name := shared_disk(lun.fingerprint))]
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
