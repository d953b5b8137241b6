"""In which order, how urgently and for how long the runs of a job are run."""

from pydantic import Field, StrictInt, StrictStr

from fsbench_web.catalog.models import Lun
from fsbench_web.core.numbers import duration
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN, MOST_RUN_AGAIN
from fsbench_web.studies.jobs.features.base import STEERING, TEXT, Feature, FormField, Workloads
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.runs.control import LEAST_PRIORITY, MOST_PRIORITY
from fsbench_web.studies.sequence import AS_WRITTEN, MAXIMUM_SEED, ORDERS, RANDOM

DEFAULT_REFERENCE_EVERY = 10
LEAST_TIME_LIMIT_S, MOST_TIME_LIMIT_S = 60, 60 * 24 * 3600


class Order(Feature):
    """The reference of the form is a variant of it, ``ext4.2``; "": there is no reference."""

    shown = STEERING
    form_fields = [
        FormField("order", "", "order {}", TEXT, RANDOM),
        FormField("seed", "leave the seed empty to get one", "seed {}"),
        FormField("reference", "", "reference {}"),
        FormField(
            *("reference_every", "say after how many runs the reference is run again"),
            words="after every {} runs",
            usual=str(DEFAULT_REFERENCE_EVERY),
        ),
        FormField("priority", "say -10 to 10, or leave it at 0", "priority {}", usual="0"),
        FormField("time_limit_s", "say how many seconds a run may take", "time limit {} seconds"),
        FormField(
            *("run_again", f"say 0 to {MOST_RUN_AGAIN}, or leave it at {DEFAULT_RUN_AGAIN}"),
            words="run again what was interrupted {} times",
            usual=str(DEFAULT_RUN_AGAIN),
        ),
    ]

    order: StrictStr = Field(
        default=AS_WRITTEN, description="as-written, or random, which needs a seed"
    )
    seed: StrictInt | None = Field(
        default=None, description="of a random order, which it makes again"
    )
    priority: StrictInt = Field(
        default=0, description="-10 to 10; runs of a higher one start first"
    )
    time_limit_s: StrictInt | None = Field(
        default=None, description="of each whole run; null: the usual"
    )
    run_again: StrictInt = Field(
        default=DEFAULT_RUN_AGAIN,
        description="how often in a row fsbench retries an interrupted run (its worker, host or "
        f"daemon died), 0 to {MOST_RUN_AGAIN}",
    )

    def check(self, lun: Lun | None, workloads: Workloads, problems: Problems) -> None:
        if self.order not in ORDERS:
            problems.add(
                "order", f'"{self.order}" is not an order: choose one of {", ".join(ORDERS)}.'
            )
        elif (
            self.order == RANDOM
            and not problems.is_reported("seed")
            and (self.seed is None or not 0 <= self.seed <= MAXIMUM_SEED)
        ):
            problems.add(
                "seed",
                f"A random order needs a seed, a whole number from 0 to {MAXIMUM_SEED}, so that it "
                "can be made again.",
            )
        if not LEAST_PRIORITY <= self.priority <= MOST_PRIORITY:
            problems.add(
                "priority",
                f"A priority is a whole number from {LEAST_PRIORITY} to {MOST_PRIORITY}, not "
                f"{self.priority}; runs of a higher one start first.",
            )
        limit_s = self.time_limit_s
        if limit_s is not None and not LEAST_TIME_LIMIT_S <= limit_s <= MOST_TIME_LIMIT_S:
            problems.add(
                "time_limit_s",
                f"The time limit of a run is {duration(LEAST_TIME_LIMIT_S)} to "
                f"{duration(MOST_TIME_LIMIT_S)}, not {limit_s} s.",
            )
        if not problems.is_reported("run_again") and not 0 <= self.run_again <= MOST_RUN_AGAIN:
            problems.add(
                "run_again",
                f"A run that was interrupted is run again 0 to {MOST_RUN_AGAIN} times, not "
                f"{self.run_again}: choose a number between them.",
            )
