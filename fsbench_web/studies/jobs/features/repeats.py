"""How often each configuration is run: a fixed number, or until its mean is known well enough."""

from pydantic import Field, StrictInt

from fsbench_web.catalog.models import Lun
from fsbench_web.core.scoring.categories import expected_cells
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.core.stats.intervals import LEAST_REPEATS
from fsbench_web.studies.jobs.features.base import ALWAYS, NEEDED, Feature, FormField, Workloads
from fsbench_web.studies.jobs.parts import JobParts
from fsbench_web.studies.jobs.problems import Problems

DEFAULT_REPEATS = 2  # as in the Unisys 2005 paper
FORM_REPEATS = 5  # blocks enough for an answer (core.stats.verdicts)
MAXIMUM_REPEATS = 20
"""Of a fixed number of them."""
MOST_REPEATS = 50
"""Of those that end by a target."""
LEAST_HALF_WIDTH_PERCENT, MOST_HALF_WIDTH_PERCENT = 0.1, 50.0


class Repeats(Feature):
    """The intervals are FREENIX 2002's, which stops at 10%, and half of it."""

    shown = ALWAYS
    form_fields = [
        FormField(
            *("repeats", "say how often each configuration is run", "", NEEDED, str(FORM_REPEATS))
        ),
        FormField(
            "until.half_width_percent",
            "say within how many percent of the mean the confidence interval shall lie",
            *("", NEEDED, "5"),
            name="half_width",
        ),
        FormField(
            *("until.least", "say how many repeats there are at least"),
            kind=NEEDED,
            usual=str(FORM_REPEATS),
        ),
        FormField("until.most", "say how many repeats there are at most", "", NEEDED, "20"),
    ]
    is_checked_last = True

    repeats: StrictInt = Field(
        default=DEFAULT_REPEATS,
        description="how often each configuration is run, unless `until` says so",
    )
    until: RepeatTarget | None = Field(
        default=None, description="instead of a fixed number of repeats"
    )

    @property
    def is_race(self) -> bool:
        """Whether a race says how often (``race.Race``)."""
        return False

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        """Whether there may be so many, or whether the rule that ends them makes sense here."""
        assert isinstance(self, JobParts)
        if self.is_race:
            return
        until = self.until
        if until is None:
            if not 1 <= self.repeats <= MAXIMUM_REPEATS and not problems.is_reported("repeats"):
                problems.add(
                    "repeats",
                    f"Each configuration can be run 1 to {MAXIMUM_REPEATS} times, not "
                    f"{self.repeats}: choose a number between them.",
                )
            return
        if not LEAST_HALF_WIDTH_PERCENT <= until.half_width_percent <= MOST_HALF_WIDTH_PERCENT:
            problems.add(
                "repeats",
                f"The target of the confidence interval is ± {LEAST_HALF_WIDTH_PERCENT:g} to "
                f"{MOST_HALF_WIDTH_PERCENT:g} percent of the mean, not "
                f"{until.half_width_percent:g}.",
                "half_width_percent",
            )
        if not LEAST_REPEATS <= until.least <= until.most <= MOST_REPEATS:
            problems.add(
                "repeats",
                f"The least number of repeats is {LEAST_REPEATS} or more (one has no interval), "
                f"and the most is not less than that and at most {MOST_REPEATS}; not "
                f"{until.least} to {until.most}.",
                *_wrong_bounds(until),
            )
        if self.reference is not None:
            problems.add(
                "repeats",
                "A reference is run among a fixed number of runs: fix the number of repeats, or "
                "leave the reference out.",
            )
        for name, workload in workloads:
            cells = list(workload.cells())
            if cells and not all(expected_cells(cells).values()):
                problems.add(
                    "repeats",
                    f"The matrix of {name} gives no overall score: a category has no cell in it. "
                    "It needs records of 4 KB or less in files up to 2 MB. Fix the number of "
                    "repeats, or make the matrix larger.",
                )


def _wrong_bounds(until: RepeatTarget) -> list[str]:
    """Which of least and most are wrong: both where each could be right alone."""
    allowed = range(LEAST_REPEATS, MOST_REPEATS + 1)
    wrong = [name for name in ("least", "most") if getattr(until, name) not in allowed]
    return wrong or ["least", "most"]
