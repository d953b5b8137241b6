"""Crash points of a job: the first run of each configuration in a guest tries them."""

import logging
from collections.abc import Mapping
from typing import Any

from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.activity.durability import (
    UNKNOWN,
    UNREADABLE,
    Durability,
    UnreadablePoints,
    read_durability,
)
from fsbench_web.studies.models import Run

logger = logging.getLogger("fsbench.durability")

NOTED = "durability"
"""Where ``Run.conditions`` has it."""


def wanted_points(document: Mapping[str, Any]) -> int:
    """How many crash points a job's document asks for."""
    points = document.get("crash_points")
    return points if isinstance(points, int) else 0


def due_points(run: Run) -> int:
    """How many crash points this run is to try, once it has measured; 0: none."""
    if run.job is None or run.is_reference or run.tracing:
        return 0
    if not Machine.of(run.series.machine).is_guest:
        return 0
    known = run.job.runs.filter(series=run.series, conditions__has_key=NOTED)
    if known.exclude(**{f"conditions__{NOTED}__verdict": UNKNOWN}).exists():
        return 0
    return wanted_points(run.job.document)


def noted(run: Run, printed: str) -> dict[str, Any]:
    """What the run's agent found, for its conditions; not known where it cannot be read."""
    try:
        found = read_durability(printed)
    except UnreadablePoints as error:
        logger.warning("run %s: its crash points cannot be read: %s", run.pk, error)
        found = Durability(UNKNOWN, UNREADABLE)
    return {NOTED: found.as_dict()}
