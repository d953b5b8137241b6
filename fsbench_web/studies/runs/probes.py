"""Probes of LUNs: the first run of a block on a machine measures the LUN for all of them."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fsbench_web.catalog.configurations.stacks import LunCounts, Stack, members_in, stack_of
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.scoring.ceilings import Probe, read_probe
from fsbench_web.platform import clock
from fsbench_web.studies.models import LunProbe, Run, Series

logger = logging.getLogger("fsbench.probes")

MOST_BYTES = 1024 * 1024
"""Of what an agent prints as a probe; it is some 10 KB."""
OF_SEVERAL = (
    "on several LUNs that no layer makes one device, and what one LUN does alone is no bound for "
    "them: not measured."
)


def due_s(run: Run) -> int:
    """For how many seconds this run is to measure its LUN first; 0: not at all."""
    series, job = run.series, run.job
    if job is None or not job.probe_s or not run.block or series.lun is None:
        return 0
    if target_of(series) is None:
        return 0
    if series.lun.is_folder or probe_of_block(run) is not None:
        return 0
    return job.probe_s


def target(stack: Stack) -> str | None:
    """What is measured below this stack: "" the LUN itself, else its words, of the device that
    layers make of several LUNs; None where there is no such device.
    """
    if not stack.members:
        return ""
    return stack.words if stack.shape.is_one_device else None


def target_of(series: Series) -> str | None:
    """The same of a series."""
    if not series.stack_luns:
        return ""
    layers = LunCounts.of(series.configuration.stack).layers
    return target(stack_of(members_in(series.stack_luns), layers))


def probe_of_block(run: Run) -> LunProbe | None:
    """That of what the run stands on in its block, on its machine."""
    series = run.series
    if run.job_id is None or not run.block or series.lun_id is None:
        return None
    if (measured := target_of(series)) is None:
        return None
    # By the job and not by the name of the block alone: numbers of deleted jobs may come again.
    probes = LunProbe.objects.filter(
        lun=series.lun_id, target=measured, run__job=run.job_id, run__block=run.block
    ).select_related("run__series")
    return next(
        (probe for probe in probes if probe.run and _machine(probe.run) == _machine(run)), None
    )


def _machine(run: Run) -> Machine:
    """That which was asked for: how a guest is accelerated is known once it has started."""
    return replace(Machine.of(run.series.machine), accelerator="")


def record(run: Run, printed: str, state: Mapping[str, Any]) -> LunProbe | None:
    """Keep what the run's agent printed as its probe; None where that is none."""
    if run.series.lun_id is None or len(printed) > MOST_BYTES:
        return None
    try:
        result = json.loads(printed)
        read_probe(result)
    except ValueError as error:
        logger.warning("run %s: its probe cannot be read: %s", run.pk, error)
        return None
    probe, _ = LunProbe.objects.update_or_create(
        run=run,
        defaults={
            "lun_id": run.series.lun_id,
            "target": target_of(run.series) or "",
            "at": clock.now(),
            "state": dict(state),
            "result": result,
        },
    )
    return probe


def attach(run: Run) -> None:
    """Note which probe the run is set against, in the transaction that ends it."""
    probe = probe_of_block(run)
    if probe is not None:
        Run.objects.filter(pk=run.pk).update(probe=probe)


def missing_reason(run: Run) -> str:
    """Why a finished run has no probe though its job asked for one, as a sentence; "" where nobody
    asked, or it has one.
    """
    if run.probe_id is not None or run.job is None or not run.job.probe_s:
        return ""
    if target_of(run.series) is None:
        return f"It is {OF_SEVERAL}"
    if not run.block:
        return "It is in no round, as reference runs are: the LUN is measured once for each round."
    return "The probe of its round gave nothing: the log of the round's first run says why."


def probe_of(run: Run) -> Probe | None:
    """What the LUN did in the block of the run; None where nobody measured it."""
    return None if run.probe is None else read_probe(run.probe.result)
