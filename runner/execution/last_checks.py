"""What is asked and written down in the last moment before a disk is written to."""

import contextlib
from collections.abc import Sequence

from django.db import InterfaceError, OperationalError, transaction

from fsbench_web.accounts import audit
from fsbench_web.catalog.configurations.filesystems import OptionError
from fsbench_web.catalog.configurations.preparation import PreparationError
from fsbench_web.core.workloads import ParameterError
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs import authority
from runner.execution import places
from runner.execution.places import RunRefused, RunStopped, UsedLun
from runner.execution.record import Recorder, reconnect
from runner.host.tuning.scheduler import SchedulerError
from runner.plan import PlanError
from runner.safety import blockdev, device_aliases
from runner.safety.locks import LockedElsewhere
from runner.worker import Host, LunUnusable


def still_wanted(run: Run, host: Host, recorder: Recorder) -> None:
    """Asked in the last moment before a disk is written to: lease, cancellation and rights may have
    changed. Raises LeaseLost, RunStopped, RunRefused.
    """
    refused = ""
    try:
        recorder.ask_now()
        if not recorder.stop_reason and (refused := authority.refusal(run.pk)):
            audit.note(f"worker:{host.name}", "run refused", f"run {run.pk}", why=refused)
    except (OperationalError, InterfaceError):
        # Nobody knows: the disk stays as it is.
        reconnect()
        recorder.stop_reason = recorder.stop_reason or "database"
    if recorder.should_stop():
        raise RunStopped
    if refused:
        raise RunRefused(f"{refused} Nothing was erased. {authority.RETRY}")


def still_free(run: Run, host: Host, luns: Sequence[UsedLun], recorder: Recorder) -> None:
    """The disks once more: noting and asking may have waited for the database, and somebody may
    have mounted one meanwhile. Raises RunRefused, RunStopped, LeaseLost.
    """
    try:
        places.verify(host, luns, recorder, run.confirmed)
    except RunRefused as error:
        # Its erasure is in the audit log already.
        with contextlib.suppress(OperationalError, InterfaceError):
            audit.note(f"worker:{host.name}", "run refused", f"run {run.pk}", why=str(error))
        raise


def note_erasures(run: Run, host: Host, luns: Sequence[UsedLun], recorder: Recorder) -> None:
    """Note it in the audit log before the disks are written to. The last check comes after it,
    because noting may wait for the database. Raises RunStopped.
    """
    try:
        with transaction.atomic():
            for lun in luns:
                if lun.number is None:
                    continue  # a folder: files are written, nothing is erased
                try:
                    identity = device_aliases.disk_identity(lun.number)
                except blockdev.ToolError:
                    identity = {}
                audit.note(
                    f"worker:{host.name}",
                    "LUN erased",
                    f"LUN {host.name}/{lun.name}",
                    run=run.pk,
                    submitted_by=run.created_by.get_username() if run.created_by else None,
                    device=lun.device,
                    serial=identity.get("serial") or lun.entry.serial or None,
                    wwn=identity.get("wwn") or lun.entry.wwn or None,
                    size_bytes=lun.size_bytes,
                )
    except (OperationalError, InterfaceError):
        reconnect()
        recorder.stop_reason = recorder.stop_reason or "database"
        raise RunStopped from None


REFUSALS = (
    RunRefused,
    LunUnusable,
    LockedElsewhere,
    PlanError,
    OptionError,
    ParameterError,
    PreparationError,
    SchedulerError,
)
