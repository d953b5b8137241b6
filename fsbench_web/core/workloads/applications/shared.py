"""Parameters that several applications have."""

from typing import Any

from fsbench_web.core.workloads.base import KB, Kind, Parameter

MIB = KB * KB


def seconds(default: int = 60) -> Parameter:
    return Parameter(
        "seconds", "Measured time", unit="seconds", default=default, minimum=1, maximum=24 * 3600
    )


def warm_up(default: int = 10) -> Parameter:
    return Parameter(
        "warm_up_s",
        "Warm-up",
        unit="seconds",
        default=default,
        maximum=24 * 3600,
        help="Before the measured time, of the same work; it is not counted.",
    )


FRESH_WARM_UP = Parameter(
    "fresh_warm_up",
    "Other rows in the warm-up",
    Kind.FLAG,
    default=False,
    is_late=True,
    help="The warm-up draws rows of its own. Without it, as in runs of before, the measured time "
    "begins with the very rows that the warm-up had, which are in memory.",
)


def warm_up_seed(values: Any) -> tuple[str, ...]:
    """The option of a program if its workload has FRESH_WARM_UP: the next seed, 1 after the
    last.
    """
    seed = values.seed % (2**31 - 1) + 1
    return (f"--warm-up-seed={seed}",) if values.fresh_warm_up else ()


def warm_up_title(values: Any) -> str:
    """For the title of a workload, with a comma before it."""
    return ", other rows in the warm-up" if values.fresh_warm_up else ""


def counts(key: str, label: str, default: list[int], help_text: str) -> Parameter:
    """How many work at the same time; each number is a load of its own."""
    return Parameter(
        key, label, Kind.WHOLES, default=default, minimum=1, maximum=1024, help=help_text
    )


def cache_mb(label: str, default: int = 128) -> Parameter:
    return Parameter(
        "cache_mb",
        label,
        unit="MiB",
        default=default,
        minimum=16,
        maximum=1024 * KB,
        help="The server's own. What it does not hold comes from the file system.",
    )


REMOUNT = Parameter(
    "remount",
    "Mount anew before each load",
    Kind.FLAG,
    default=True,
    help="So that no load begins with what the one before left in the cache.",
)
