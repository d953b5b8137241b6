"""Parameters that several applications have."""

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
