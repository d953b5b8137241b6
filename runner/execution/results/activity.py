"""What was sampled during a run becomes its activity, costs and promise. It never fails the run."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from fsbench_web.core.activity.costs import Price, Work, costs_of, measured_steps, waits_of, work_of
from fsbench_web.core.activity.promises import Promise, promise
from fsbench_web.core.activity.series import Activity
from fsbench_web.core.formats.fio.syncs import uncounted
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.workloads import workload_of
from fsbench_web.core.workloads.own import OwnCommand
from fsbench_web.studies.activity import pricing, records
from fsbench_web.studies.models import Run
from runner.execution.record import Recorder

logger = logging.getLogger("fsbench.worker")


@dataclass(frozen=True)
class Sampled:
    """What was sampled, the work, and whether the device was flushed as its syncs need."""

    activity: Activity
    has_numbers: bool
    work: Work | None
    promise: Promise | None

    def costs(self, price: Price | None) -> dict[str, float]:
        """What the run is known for, by name; nothing of one that did not end well."""
        if not self.has_numbers:
            return {}
        # Kept beside them, so that another price can be stated later.
        operations = {pricing.OPERATIONS: self.work.operations} if self.work is not None else {}
        return (
            costs_of(self.activity, self.work, price)
            | waits_of(self.activity, self.work)
            | operations
        )


def sampled(
    tool: str,
    parameters: Mapping[str, Any],
    recorder: Recorder,
    parsed: Mapping[str, ParsedResult],
    artefacts: Mapping[str, bytes],
) -> Sampled | None:
    """What there is to ``store``; it may read outputs again. ``parsed`` is empty where the run did
    not end well.
    """
    try:
        activity = activity_of(recorder)
        if activity is None:
            return None
        if not parsed:
            return Sampled(activity, has_numbers=False, work=None, promise=None)
        work = work_of_run(tool, recorder, parsed, artefacts)
        outputs = {name: artefacts[name] for name in parsed}
        syncs = workload_of(tool, parameters).syncs(outputs) if tool else {}
        return Sampled(activity, True, work, promise(syncs, activity))
    except Exception:
        # The numbers of the run are worth more than what is known beside them.
        logger.exception("run %s: its activity cannot be read", recorder.handle.run_id)
        return None


def store(run: Run, sampled: Sampled | None) -> None:
    """Within the transaction that ends the run."""
    if sampled is None:
        return
    try:
        with transaction.atomic():
            costs = sampled.costs(pricing.price_of(run.series.hardware))
            records.store(run, sampled.activity, costs)
    except Exception:
        logger.exception("run %s: its activity cannot be stored", run.pk)


def activity_of(recorder: Recorder) -> Activity | None:
    """What was sampled; None where nothing was."""
    return recorder.activity.built(is_whole=recorder.is_ok is True)


def work_of_run(
    tool: str,
    recorder: Recorder,
    parsed: Mapping[str, ParsedResult],
    artefacts: Mapping[str, bytes],
) -> Work | None:
    """What the benchmark asked for; None where the kernel cannot have counted all of it."""
    if tool in ("", OwnCommand.tool):
        # Any program: it may read and write as the kernel does not count, and nobody says how.
        return None
    work = work_of(measured_steps(recorder.activity.steps))
    for name, result in parsed.items():
        if work is not None and result.format == "fio-json":
            uncounted_work = uncounted(artefacts[name])
            if uncounted_work is None:
                return None
            work = replace(
                work,
                read_bytes=work.read_bytes + uncounted_work.read_bytes,
                written_bytes=work.written_bytes + uncounted_work.written_bytes,
                operations=work.operations + uncounted_work.operations,
            )
    return work
