"""Tracing: one more run of each configuration, after all others, which counts in no score."""

from pydantic import Field, StrictStr

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.traces.tracers import OPERATIONS, TRACERS
from fsbench_web.studies.jobs.features.base import NAMES, Feature, FormField, Workloads
from fsbench_web.studies.jobs.features.guest import Guest
from fsbench_web.studies.jobs.features.race import Race
from fsbench_web.studies.jobs.problems import Problems

NOT_IN_GUESTS = (
    "The guest's kernel does the operations of the file system, and its root holds no bpftrace. "
    "Leave operations out (the worker's host traces requests), or run on the worker's own kernel."
)


class Tracing(Feature):
    form_fields = [
        FormField("tracing", "name each tracer once", "one more run, traced: {}", NAMES),
    ]

    tracing: tuple[StrictStr, ...] = Field(
        default=(),
        max_length=10,
        description="what one more run of each configuration, after all others, is traced with: "
        f"{', '.join(TRACERS)}; that run counts in no score. Empty: there is none",
    )

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        """Each tracer is known, is named once, and can run where this LUN is."""
        assert isinstance(self, Guest)
        assert isinstance(self, Race)
        if not self.tracing or problems.is_reported("tracing"):
            return
        for slug in dict.fromkeys(self.tracing):
            if slug not in TRACERS:
                problems.add(
                    "tracing", f'"{slug}" is not a tracer: choose of {", ".join(TRACERS)}.'
                )
            elif self.tracing.count(slug) > 1:
                problems.add("tracing", f"{slug} is named more than once: name it once.")
            elif problem := why_not_traced(slug, lun, is_guest=self.guest is not None):
                problems.add("tracing", problem)
        if self.race is not None:
            problems.add(
                "tracing",
                "A race ends when its winner is known, and has no run behind that: trace the "
                "winner in a job of its own.",
            )


def why_not_traced(slug: str, lun: Lun | None, *, is_guest: bool) -> str:
    """Why runs on this LUN cannot be traced so, or ""; ``lun`` None where none is chosen."""
    if slug == OPERATIONS and is_guest:
        return NOT_IN_GUESTS
    return availability.tracer_problem(lun, slug) if lun is not None else ""
