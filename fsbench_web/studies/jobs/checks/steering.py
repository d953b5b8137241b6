"""Order, seed, priority, time limit of a job, and what of it is run again. No database."""

from fsbench_web.core.numbers import duration
from fsbench_web.studies.causes import MOST_RUN_AGAIN
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import JobSpec
from fsbench_web.studies.runs.control import LEAST_PRIORITY, MOST_PRIORITY
from fsbench_web.studies.sequence import MAXIMUM_SEED, ORDERS, RANDOM

LEAST_TIME_LIMIT_S, MOST_TIME_LIMIT_S = 60, 60 * 24 * 3600


def check(spec: JobSpec, problems: Problems) -> None:
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
