"""What is wrong with the extra runs of a job: whether its worker can trace them."""

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.traces.tracers import OPERATIONS, TRACERS
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import JobSpec

NOT_IN_GUESTS = (
    "Operations of a file system are seen by the kernel that does them, which is the guest's, and "
    "its root holds no bpftrace: leave operations out (requests are traced by the worker's host), "
    "or run on the worker's own kernel."
)


def why_not(slug: str, lun: Lun | None, *, is_guest: bool) -> str:
    """Why runs on this LUN cannot be traced so, or ""; ``lun`` None where none is chosen."""
    if slug == OPERATIONS and is_guest:
        return NOT_IN_GUESTS
    return availability.tracer_problem(lun, slug) if lun is not None else ""


def check(spec: JobSpec, lun: Lun | None, problems: Problems) -> None:
    """Each tracer is known, is named once, and can run where this LUN is."""
    if not spec.tracing or problems.is_reported("tracing"):
        return
    for slug in dict.fromkeys(spec.tracing):
        if slug not in TRACERS:
            problems.add("tracing", f'"{slug}" is no tracer: choose of {", ".join(TRACERS)}.')
        elif spec.tracing.count(slug) > 1:
            problems.add("tracing", f"{slug} is named more than once: name it once.")
        elif problem := why_not(slug, lun, is_guest=spec.guest is not None):
            problems.add("tracing", problem)
    if spec.race is not None:
        problems.add(
            "tracing",
            "A race ends when its winner is known, and has no run behind that: trace the winner in "
            "a job of its own.",
        )
