"""What the job form says of its options: how each is to be said, and what was chosen."""

import re

from fsbench_web.catalog.configurations.limits import MOST
from fsbench_web.catalog.configurations.preparation import (
    MAXIMUM_AGE_ROUNDS,
    MAXIMUM_FILL_PERCENT,
    MAXIMUM_SPRANDOM_PERCENT,
)
from fsbench_web.studies.causes import DEFAULT_RUN_AGAIN, MOST_RUN_AGAIN
from fsbench_web.studies.jobs.spec import LEAST_PROBE_S, MOST_CLIENTS, MOST_PROBE_S

_TIME_ASKED = (
    "say a day and a time, as 2026-11-23T22:00, and its zone too (+01:00) in an hour in which "
    "clocks are changed"
)
ASKED = {
    "repeats": "say how often each configuration is run",
    "half_width": "say within how many percent of the mean the confidence interval shall lie",
    "least": "say how many repeats there are at least",
    "most": "say how many repeats there are at most",
    "race_find": "choose best or change",
    "race_hours": "say how many hours the race may take",
    "race_runs": "say how many runs the race may have in all",
    "race_margin": "say how many percent are no difference",
    "discard": "say whether the LUN is discarded",
    "precondition": "say whether the LUN is written once",
    "precondition_twice": "say whether the LUN is written twice",
    "sprandom_percent": f"say 0 to {MAXIMUM_SPRANDOM_PERCENT} percent of over-provisioning",
    "fill_percent": f"the fill level must be 0 to {MAXIMUM_FILL_PERCENT} percent",
    "age_rounds": f"say 0 to {MAXIMUM_AGE_ROUNDS} rounds of ageing",
    "age_extents": "say how many hundredths of an extent a file has, or leave it empty",
    "kernels": "choose fewer kernels",
    "guest_memory_mib": "say how much memory the guest has, in MiB",
    "guest_cpus": "say how many CPUs the guest has",
    **{f"limit_{name}": "say one limit or several, as 0, 100; 0 is none" for name in MOST},
    "seed": "leave the seed empty to get one",
    "reference_every": "say after how many runs the reference is run again",
    "priority": "say -10 to 10, or leave it at 0",
    "time_limit_s": "say how many seconds a run may take",
    "probe_s": f"say {LEAST_PROBE_S} to {MOST_PROBE_S} seconds, or 0 for not at all",
    "tracing": "name each tracer once",
    "clients": f"name {MOST_CLIENTS - 1} other workers at most, each once",
    "start_at": _TIME_ASKED,
    "stop_before": _TIME_ASKED,
    "run_again": f"say 0 to {MOST_RUN_AGAIN}, or leave it at {DEFAULT_RUN_AGAIN}",
}
"""What to say of a field that cannot be read."""
IS = {
    "bool_type": "is neither yes nor no",
    "float_type": "is not a number",
    "int_type": "is not a whole number",
    "moment": "is not a time",
}
LABELS = {
    "precondition": "Write the whole LUN once",
    "fill_percent": "Fill level",
    "age_rounds": "Age it first",
    "age_extents": "Stop ageing at",
}
"""What the form calls the options that sentences about several of them name by their keys."""
PREPARED = {
    "discard": "discard",
    "precondition": "write the whole LUN once",
    "precondition_twice": "twice",
    "sprandom_percent": "sprandom with {} percent of over-provisioning",
    "fill_percent": "fill level {} percent",
    "age_rounds": "age it for {} rounds",
    "age_extents": "or until {} hundredths of an extent a file",
    "probe_s": "measure the LUN itself for {} seconds",
    "tracing": "one more run, traced: {}",
}
"""What is done before a run, in words."""
STEERED = {
    "order": "order {}",
    "seed": "seed {}",
    "reference": "reference {}",
    "reference_every": "after every {} runs",
    "priority": "priority {}",
    "time_limit_s": "time limit {} seconds",
    "start_at": "start at {}",
    "stop_before": "stop before {}",
    "run_again": "run again what was interrupted {} times",
}
"""The fields of order, times and limits, in words."""
LIMIT_WORDS: tuple[dict[str, str], ...] = (
    {"label": "Reads", "unit": "MiB/s", "help": "Of each LUN of the run."},
    {
        "label": "Writes",
        "unit": "MiB/s",
        "help": "Under version 1 of control groups of direct writes alone.",
    },
    {"label": "Reads", "unit": "requests/s"},
    {"label": "Writes", "unit": "requests/s"},
    {"label": "Memory", "unit": "MiB", "help": "The page cache is part of it."},
    {"label": "CPUs", "unit": "number"},
)
"""In the order of the limits."""


def with_labels(sentence: str) -> str:
    """A sentence that names options by their keys, as job files write them, with their labels."""
    keys = "|".join(LABELS)
    return re.sub(rf"\b({keys})\b", lambda match: f"“{LABELS[match[1]]}”", sentence)
