"""What was sampled during a run becomes its activity and costs. It never fails the run."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from django.db import transaction

from fsbench_web.core.activity.costs import Work, costs_of, work_of
from fsbench_web.core.formats.fio.totals import uncounted
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.workloads.own import OwnCommand
from fsbench_web.studies.activity import records
from fsbench_web.studies.models import Run
from runner.execution.record import Recorder

logger = logging.getLogger("fsbench.worker")


def store(
    run: Run, recorder: Recorder, parsed: Mapping[str, ParsedResult], artefacts: Mapping[str, bytes]
) -> None:
    """Within the transaction that ends the run. ``parsed`` is empty where it did not end well."""
    try:
        activity = recorder.activity.built(is_whole=recorder.is_ok is True)
        if activity is None:
            return
        costs = {}
        if parsed:
            costs = costs_of(activity, _work(run, recorder, parsed, artefacts))
        with transaction.atomic():
            records.store(run, activity, costs)
    except Exception:
        # The numbers of the run are worth more than what is known beside them.
        logger.exception("run %s: its activity cannot be stored", run.pk)


def _work(
    run: Run, recorder: Recorder, parsed: Mapping[str, ParsedResult], artefacts: Mapping[str, bytes]
) -> Work | None:
    """What the benchmark asked for; None where the kernel cannot have counted all of it."""
    workload = run.series.workload
    if workload is None or workload.tool == OwnCommand.tool:
        # Any program: it may read and write as the kernel does not count, and nobody says how.
        return None
    work = work_of([step for step in recorder.activity.steps if step.phase == "benchmark"])
    for name, result in parsed.items():
        if work is not None and result.format == "fio-json":
            more = uncounted(artefacts[name])
            if more is None:
                return None
            work = replace(
                work,
                read_bytes=work.read_bytes + more.read_bytes,
                written_bytes=work.written_bytes + more.written_bytes,
                operations=work.operations + more.operations,
            )
    return work
