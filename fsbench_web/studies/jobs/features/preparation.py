"""Preparation: what is done to the LUN before each run."""

from typing import Annotated

from pydantic import BeforeValidator

from fsbench_web.catalog.configurations.filesystems import RAW
from fsbench_web.catalog.configurations.preparation import (
    MAXIMUM_AGE_ROUNDS,
    MAXIMUM_FILL_PERCENT,
    MAXIMUM_SPRANDOM_PERCENT,
    NOT_FOR_DIRECTORIES,
    NOT_FOR_RAW,
    PLAIN,
    Preparation,
    has_sprandom,
)
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.numbers import size
from fsbench_web.studies.jobs.features.base import AMOUNT, FLAG, Feature, FormField, Workloads
from fsbench_web.studies.jobs.parts import JobParts
from fsbench_web.studies.jobs.problems import Problems

# A disk that writes more slowly than this is broken; a limit is not an estimate.
SLOWEST_BYTES_S = 10 * 1024 * 1024


class Prepared(Feature):
    form_fields = [
        FormField("preparation.discard", "say whether the LUN is discarded", "discard", FLAG),
        FormField(
            *("preparation.precondition", "say whether the LUN is written once"),
            *("write the whole LUN once", FLAG),
            label="Write the whole LUN once",
        ),
        FormField(
            *("preparation.precondition_twice", "say whether the LUN is written twice"),
            *("twice", FLAG),
        ),
        FormField(
            "preparation.sprandom_percent",
            f"say 0 to {MAXIMUM_SPRANDOM_PERCENT} percent of over-provisioning",
            *("sprandom with {} percent of over-provisioning", AMOUNT),
        ),
        FormField(
            "preparation.fill_percent",
            f"the fill level must be 0 to {MAXIMUM_FILL_PERCENT} percent",
            *("fill level {} percent", AMOUNT),
            label="Fill level",
        ),
        FormField(
            *("preparation.age_rounds", f"say 0 to {MAXIMUM_AGE_ROUNDS} rounds of ageing"),
            *("age it for {} rounds", AMOUNT),
            label="Age it first",
        ),
        FormField(
            "preparation.age_extents",
            "say how many hundredths of an extent a file has, or leave it empty",
            *("or until {} hundredths of an extent a file", AMOUNT),
            label="Stop ageing at",
        ),
    ]
    parts = {"preparation": PLAIN}

    preparation: Annotated[
        Preparation,
        BeforeValidator(
            lambda value: PLAIN if value is None else value,
            json_schema_input_type=Preparation | None,
        ),
    ] = PLAIN

    def longer_s(self, lun: Lun) -> int:
        size_bytes = lun.size_bytes or 0
        written = self.preparation.written_bytes(size_bytes)
        return (written + self.preparation.passes * size_bytes) // SLOWEST_BYTES_S

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        assert isinstance(self, JobParts)
        _check(self.preparation, lun, workloads, problems)
        if self.preparation.fill_percent and any(
            configuration.filesystem == RAW for configuration in self.configurations
        ):
            problems.add("preparation", NOT_FOR_RAW, "fill_percent")


def _check(
    preparation: Preparation, lun: Lun | None, workloads: Workloads, problems: Problems
) -> None:
    """Whether this LUN can be prepared so, as far as its worker announced it."""
    if preparation == PLAIN or lun is None:
        return
    if lun.is_folder:
        problems.add("preparation", NOT_FOR_DIRECTORIES)
        return
    if preparation.discard and not lun.can_discard:
        problems.add(
            "preparation",
            f"{lun.name} takes no discard (TRIM): leave it out, or choose another LUN.",
            "discard",
        )
    if preparation.sprandom_percent and (problem := sprandom_problem(lun)):
        problems.add("preparation", problem, "sprandom_percent")
    if lun.size_bytes is None:
        problems.add(
            "preparation",
            f"The size of {lun.name} is not known, so that it can be neither written once nor "
            "filled: leave that out.",
        )
        return
    filled = preparation.space_bytes(lun.size_bytes)
    needed = max((workload.space_needed_bytes() for _, workload in workloads), default=0)
    if filled and needed + filled > lun.size_bytes:
        problems.add(
            "preparation",
            f"Filled to {preparation.fill_percent}%, {lun.name} has "
            f"{size(lun.size_bytes - filled)} left, and the workload needs {size(needed)}: fill "
            "it less, or make the largest file smaller.",
            "fill_percent",
        )


def sprandom_problem(lun: Lun) -> str:
    """Why the worker of this LUN cannot write it by sprandom, as a sentence; "" where it can."""
    if missing := availability.missing_tool(lun.worker, "fio"):
        return f"sprandom is fio's. {missing}"
    version = str(lun.worker.capabilities.get("tools", {}).get("fio", {}).get("version") or "")
    if has_sprandom(version):
        return ""
    text = f"fio {version}" if version else "a fio that does not tell its version"
    return (
        f"The worker {lun.worker.name} has {text}, and sprandom came with 3.41: install that or a "
        "later one there, or write the LUN once or twice instead."
    )
