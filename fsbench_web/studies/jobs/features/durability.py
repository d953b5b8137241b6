"""Crash points: what each configuration loses when power fails, in guests."""

from pydantic import Field, StrictInt

from fsbench_web.catalog.configurations.commands import durability
from fsbench_web.catalog.configurations.commands.durability import LEAST_POINTS, MOST_POINTS
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.studies.jobs.features.base import AMOUNT, Feature, FormField, Workloads
from fsbench_web.studies.jobs.features.guest import Guest
from fsbench_web.studies.jobs.parts import JobParts
from fsbench_web.studies.jobs.problems import Problems


class CrashPoints(Feature):
    form_fields = [
        FormField(
            *("crash_points", f"say {LEAST_POINTS} to {MOST_POINTS} crash points, or 0 for none"),
            *("try {} crash points of each configuration", AMOUNT),
        ),
    ]

    crash_points: StrictInt = Field(
        default=0,
        description="crash points, at most, that the first run of each configuration tries after "
        f"its benchmark, {LEAST_POINTS} to {MOST_POINTS}; in guests only. 0: none",
    )

    def longer_s(self, lun: Lun) -> int:
        return int(durability.limit_s(self.crash_points))

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        assert isinstance(self, Guest)
        assert isinstance(self, JobParts)
        if self.crash_points == 0 or problems.is_reported("crash_points"):
            return
        if not LEAST_POINTS <= self.crash_points <= MOST_POINTS:
            problems.add(
                "crash_points",
                f"Say {LEAST_POINTS} to {MOST_POINTS} crash points, or 0 for none.",
            )
        if self.guest is None:
            problems.add("crash_points", "Crash points are tried in guests: choose a guest kernel.")
        size_bytes = lun.size_bytes if lun is not None else None
        for wanted in self.configurations:
            is_alone = not (wanted.journal or wanted.stack.members or wanted.stack.layers)
            found = durability.problems(wanted.filesystem, wanted.options, is_alone, size_bytes)
            for sentence in found:
                problems.add("crash_points", sentence)
        ability = availability.guest(lun.worker) if lun is not None else None
        for name in self.guest.kernels if self.guest and ability else ():
            kernel = ability.kernel(name) if ability else None
            for sentence in availability.crash_problems(kernel) if kernel else ():
                problems.add("crash_points", sentence)
