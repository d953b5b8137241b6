"""Check how a job makes its runs: order, time limit, preparation, probe, tracing, repeats."""

from collections.abc import Sequence

from fsbench_web.catalog.configurations.filesystems import RAW
from fsbench_web.catalog.configurations.preparation import (
    NOT_FOR_DIRECTORIES,
    NOT_FOR_RAW,
    PLAIN,
    Preparation,
    has_sprandom,
)
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.numbers import duration, size
from fsbench_web.core.scoring.categories import expected_cells
from fsbench_web.core.stats.intervals import LEAST_REPEATS
from fsbench_web.core.traces.tracers import OPERATIONS, TRACERS
from fsbench_web.core.workloads import Workload
from fsbench_web.studies.causes import MOST_RUN_AGAIN
from fsbench_web.studies.jobs.checks.machines import Host
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import (
    LEAST_PROBE_S,
    MOST_PROBE_S,
    ConfigurationSpec,
    JobSpec,
    RepeatTarget,
)
from fsbench_web.studies.runs import probes
from fsbench_web.studies.runs.control import LEAST_PRIORITY, MOST_PRIORITY
from fsbench_web.studies.sequence import MAXIMUM_SEED, ORDERS, RANDOM, Slot

MAXIMUM_REPEATS = 20
"""Of a fixed number of them."""
MOST_REPEATS = 50
"""Of those that end by a target."""
LEAST_TIME_LIMIT_S, MOST_TIME_LIMIT_S = 60, 60 * 24 * 3600
LEAST_HALF_WIDTH_PERCENT, MOST_HALF_WIDTH_PERCENT = 0.1, 50.0
# A disk that writes more slowly than this is broken; a limit is not an estimate.
SLOWEST_BYTES_S = 10 * 1024 * 1024

NOT_IN_GUESTS = (
    "The guest's kernel does the operations of the file system, and its root holds no bpftrace. "
    "Leave operations out (the worker's host traces requests), or run on the worker's own kernel."
)

Workloads = Sequence[tuple[str, Workload]]


def check_method(spec: JobSpec, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
    """Order, priority, time limit, preparation, probe and extra runs."""
    _check_order(spec, problems)
    _check_preparation(spec.preparation, lun, workloads, problems)
    if spec.preparation.fill_percent and any(
        configuration.filesystem == RAW for configuration in spec.configurations
    ):
        problems.add("preparation", NOT_FOR_RAW, "fill_percent")
    _check_probe(spec, lun, problems)
    _check_tracing(spec, lun, problems)


def _check_order(spec: JobSpec, problems: Problems) -> None:
    """Order, seed, priority, time limit and what is run again."""
    if spec.order not in ORDERS:
        problems.add("order", f'"{spec.order}" is no order: choose one of {", ".join(ORDERS)}.')
    elif (
        spec.order == RANDOM
        and not problems.is_reported("seed")
        and (spec.seed is None or not 0 <= spec.seed <= MAXIMUM_SEED)
    ):
        problems.add(
            "seed",
            f"A random order needs a seed, a whole number from 0 to {MAXIMUM_SEED}, so that it can "
            "be made again.",
        )
    if not LEAST_PRIORITY <= spec.priority <= MOST_PRIORITY:
        problems.add(
            "priority",
            f"A priority is a whole number from {LEAST_PRIORITY} to {MOST_PRIORITY}, not "
            f"{spec.priority}; runs of a higher one start first.",
        )
    limit_s = spec.time_limit_s
    if limit_s is not None and not LEAST_TIME_LIMIT_S <= limit_s <= MOST_TIME_LIMIT_S:
        problems.add(
            "time_limit_s",
            f"The time limit of a run is {duration(LEAST_TIME_LIMIT_S)} to "
            f"{duration(MOST_TIME_LIMIT_S)}, not {limit_s} s.",
        )
    if not problems.is_reported("run_again") and not 0 <= spec.run_again <= MOST_RUN_AGAIN:
        problems.add(
            "run_again",
            f"A run that was interrupted is run again 0 to {MOST_RUN_AGAIN} times, not "
            f"{spec.run_again}: choose a number between them.",
        )


def _check_preparation(
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


def _check_probe(spec: JobSpec, lun: Lun | None, problems: Problems) -> None:
    """Whether this LUN alone can be measured, in so many seconds."""
    if spec.probe_s == 0 or problems.is_reported("probe_s"):
        return
    if not LEAST_PROBE_S <= spec.probe_s <= MOST_PROBE_S:
        problems.add(
            "probe_s",
            f"The LUN itself is measured for {LEAST_PROBE_S} to {MOST_PROBE_S} seconds, or not at "
            f"all (0), and not {spec.probe_s}.",
        )
    if lun is None:
        return
    if lun.is_folder:
        problems.add(
            "probe_s",
            f"{lun.name} is a {lun.kind}, and has no device of its own that could be measured: "
            "leave the probe out, or choose a LUN on which file systems are made.",
        )
    elif spec.guest is None and (missing := availability.missing_tool(lun.worker, "fio")):
        problems.add("probe_s", f"The LUN itself is measured by fio. {missing}")


def why_not_traced(slug: str, lun: Lun | None, *, is_guest: bool) -> str:
    """Why runs on this LUN cannot be traced so, or ""; ``lun`` None where none is chosen."""
    if slug == OPERATIONS and is_guest:
        return NOT_IN_GUESTS
    return availability.tracer_problem(lun, slug) if lun is not None else ""


def _check_tracing(spec: JobSpec, lun: Lun | None, problems: Problems) -> None:
    """Each tracer is known, is named once, and can run where this LUN is."""
    if not spec.tracing or problems.is_reported("tracing"):
        return
    for slug in dict.fromkeys(spec.tracing):
        if slug not in TRACERS:
            problems.add("tracing", f'"{slug}" is no tracer: choose of {", ".join(TRACERS)}.')
        elif spec.tracing.count(slug) > 1:
            problems.add("tracing", f"{slug} is named more than once: name it once.")
        elif problem := why_not_traced(slug, lun, is_guest=spec.guest is not None):
            problems.add("tracing", problem)
    if spec.race is not None:
        problems.add(
            "tracing",
            "A race ends when its winner is known, and has no run behind that: trace the winner in "
            "a job of its own.",
        )


def first_of_blocks(
    slots: Sequence[Slot], combinations: Sequence[tuple[ConfigurationSpec, Host, object]]
) -> set[int]:
    """The places of the runs that measure the LUN: first in their block on their machine.

    A reference is in no block. Each stack that is one device is measured alone.
    """
    first_places: dict[tuple[int, Machine, str], int] = {}
    for place, slot in enumerate(slots):
        if slot.index is None:
            continue
        wanted, host, _ = combinations[slot.index]
        if (target := probes.target(wanted.stack)) is not None:
            first_places.setdefault((slot.repeat, host.machine, target), place)
    return set(first_places.values())


def preparation_time_limit_s(preparation: Preparation, lun: Lun) -> int:
    """How much longer a run may take because of its preparation."""
    written = preparation.written_bytes(lun.size_bytes or 0)
    written += preparation.passes * (lun.size_bytes or 0)
    return written // SLOWEST_BYTES_S


def _wrong_bounds(until: RepeatTarget) -> list[str]:
    """Which of least and most are wrong: both where each could be right alone."""
    allowed = range(LEAST_REPEATS, MOST_REPEATS + 1)
    wrong = [name for name in ("least", "most") if getattr(until, name) not in allowed]
    return wrong or ["least", "most"]


def check_repeats(spec: JobSpec, workloads: Workloads, problems: Problems) -> None:
    """Whether there may be so many, or whether the rule that ends them makes sense here."""
    until = spec.until
    if until is None:
        if not 1 <= spec.repeats <= MAXIMUM_REPEATS and not problems.is_reported("repeats"):
            problems.add(
                "repeats",
                f"Each configuration can be run 1 to {MAXIMUM_REPEATS} times, not "
                f"{spec.repeats}: choose a number between them.",
            )
        return
    if not LEAST_HALF_WIDTH_PERCENT <= until.half_width_percent <= MOST_HALF_WIDTH_PERCENT:
        problems.add(
            "repeats",
            f"The target of the confidence interval is ± {LEAST_HALF_WIDTH_PERCENT:g} to "
            f"{MOST_HALF_WIDTH_PERCENT:g} percent of the mean, not {until.half_width_percent:g}.",
            "half_width_percent",
        )
    if not LEAST_REPEATS <= until.least <= until.most <= MOST_REPEATS:
        problems.add(
            "repeats",
            f"The least number of repeats is {LEAST_REPEATS} or more (one has no interval), and "
            f"the most is not less than that and at most {MOST_REPEATS}; not {until.least} to "
            f"{until.most}.",
            *_wrong_bounds(until),
        )
    if spec.reference is not None:
        problems.add(
            "repeats",
            "A reference is run among a fixed number of runs: fix the number of repeats, or leave "
            "the reference out.",
        )
    for name, workload in workloads:
        cells = list(workload.cells())
        if cells and not all(expected_cells(cells).values()):
            problems.add(
                "repeats",
                f"The matrix of {name} gives no overall score: a category has no cell in it. "
                "It needs records of 4 KB or less in files up to 2 MB. Fix the number of repeats, "
                "or make the matrix larger.",
            )
