"""What the workers of a site under load have to do, and whether anything of it was lost."""

import sys
import time
from collections.abc import Iterator
from io import StringIO

from benchmarks.load.clients import CELLS, RequestLog
from benchmarks.load.site import WORKER

REPEATS = 5
STUDY = "under-load"
SMALL = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 64,
    "minimum_file_kb": 64,
    "maximum_file_kb": 512,
}


def wait_for_workers(count: int) -> None:
    """Until each has said which device its LUN is: a job for one nobody knows is refused."""
    from fsbench_web.catalog.models import Lun

    deadline = time.monotonic() + 120
    announced = Lun.objects.filter(worker__name__startswith=f"{WORKER}-")
    while sum(1 for lun in announced.all() if lun.fingerprint) < count:
        if time.monotonic() > deadline:
            sys.exit("Not all workers announced their LUNs within two minutes.")
        time.sleep(0.5)


def submit_runs(workers: int, per_worker: int) -> None:
    """Queued runs for every worker, more than it can do."""
    from django.db import transaction

    from fsbench_web.catalog.configurations.records import configuration_for
    from fsbench_web.catalog.models import Lun, Workload
    from fsbench_web.studies.models import Study
    from fsbench_web.studies.runs import new_runs
    from fsbench_web.studies.series import series_for

    study = Study.objects.create(slug=STUDY, title="Under load")
    workload = Workload.objects.create(
        slug=STUDY, title="Under load", tool="iozone", parameters=SMALL
    )
    flags = [{}, {"atime": "noatime"}, {"atime": "nodiratime"}, {"atime": "strictatime"}]
    kinds = [(filesystem, options) for filesystem in ("ext4", "xfs", "btrfs") for options in flags]
    for lun in Lun.objects.filter(worker__name__startswith=f"{WORKER}-").select_related("worker"):
        queued_runs = []
        for filesystem, options in kinds[: 1 + per_worker // REPEATS]:
            series = series_for(
                study,
                configuration_for(filesystem, options, external_journal=False),
                workload=workload,
                hardware=lun.worker.hardware,
                lun=lun,
                journal_lun=None,
                kernel=lun.worker.capabilities["kernel"],
                distribution=lun.worker.capabilities["distribution"],
            )
            repeats = max(REPEATS, per_worker // len(kinds) + 1)
            queued_runs += [
                new_runs.NewRun(series, repeat + 1, confirmed=new_runs.confirmed_of(lun, None))
                for repeat in range(repeats)
            ]
        with transaction.atomic():
            new_runs.create_all_queued(queued_runs, by=None, job=None)


def tokens_of(count: int) -> list[str]:
    """A token of an account of its own for each who uploads."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    tokens = []
    for number in range(count):
        User.objects.create_superuser(f"load-{number}")
        printed = StringIO()
        call_command("create_token", f"load-{number}", stdout=printed)
        tokens.append(printed.getvalue().strip())
    return tokens


def lost_writes(seen: RequestLog) -> Iterator[str]:
    """What was confirmed, or ended as done, and is not there as it should be."""
    from fsbench_web.studies.models import Lease, MeasurementBlock, Run, RunState
    from fsbench_web.studies.scores import measurements

    for run_id, first in seen.uploaded.items():
        blocks = MeasurementBlock.objects.filter(run=run_id, run__state=RunState.DONE)
        values = sorted(row.value for row in measurements.rows(blocks))
        expected = [round(first + place / 100, 2) for place in range(len(CELLS))]
        if values != expected:
            yield f"upload of run {run_id}: {len(values)} of {len(expected)} numbers as sent"
    for run in Run.objects.filter(series__study__slug=STUDY).exclude(state=RunState.QUEUED):
        rows = measurements.rows(measurements.of_run(run.pk))
        count = sum(row.file_size_kb is not None for row in rows)
        changes = list(run.changes.values_list("state", flat=True))
        if run.state == RunState.DONE and count != 6 * len(CELLS):
            yield f"run {run.pk} is done with {count} of {6 * len(CELLS)} numbers"
        # The end of the measurement stops the workers, and so the runs of that moment.
        elif run.state != RunState.DONE and "The worker was stopped" not in run.reason:
            yield f"run {run.pk} ended {run.state}: {run.reason}"
        if len(changes) != len(set(changes)):
            yield f"run {run.pk} was carried out twice: {changes}"
    for lease in Lease.objects.exclude(run=None):
        yield f"run {lease.run_id} still has its LUN"
