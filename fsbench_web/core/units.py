"""The one place that knows which units are better when they are small. Pure."""

import re

SUM = "score"
"""The unit of an overall score of rates, as the paper prints it: a sum of six is no rate."""

RATIO = "×"
"""The unit of ratios of speed to a baseline: 2 is twice as fast."""

_TIMES = {"s", "sec", "second", "seconds", "ms", "us", "µs", "μs", "ns", "min", "minutes", "h"}
_SPACE = {"bytes", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}
_LOAD = {"% CPU", "%CPU"}
# Of what a run's work cost (core.activity.costs); "KiB/request" is neither better nor worse.
_PRICES = [f"{currency}/million ops" for currency in ("EUR", "USD", "GBP", "CHF")]
_COSTS = {"B/B", "flushes/1000 ops", "CPU s/GiB", "% of time", "J/GiB", *_PRICES}
_GAINS = {"ops/CPU s"}
_RATE = re.compile(
    r".+(/s|/sec|/second| per second|/min|/minute| per minute)|[km]?iops|ops|tps|[kmgt]?i?bps",
    re.IGNORECASE,
)


class UnknownUnit(ValueError):
    """A unit of which nobody said whether more of it is better."""


def lower_is_better(unit: str) -> bool:
    """True for times, space used, CPU load and costs; False for rates and sums of them.

    A unit may name what it is of before the unit itself: "CPU seconds", "real s". Raises
    UnknownUnit.
    """
    unit = unit.strip()
    if unit in (SUM, RATIO) or unit in _GAINS or _RATE.fullmatch(unit):
        return False
    if (
        unit in _LOAD
        or unit in _COSTS
        or unit.removeprefix("SI ") in _SPACE
        or (unit.split() or [""])[-1] in _TIMES
    ):
        return True
    raise UnknownUnit(
        f'fsbench does not know whether more or less of "{unit}" is better: '
        "use a rate (KB/s, operations/s) or a time (s, ms)."
    )


def is_rate(unit: str) -> bool:
    """Whether it is work per time: KB/s, IOPS."""
    return _RATE.fullmatch(unit.strip()) is not None


def overall_unit(unit: str) -> str:
    """The unit of the overall score of a test measured in ``unit``.

    A sum of times keeps its unit, so that less of it stays better, and so does one of a unit of
    which nobody knows the direction: of a score more would be better.
    """
    return SUM if is_known(unit) and not lower_is_better(unit) else unit


def is_known(unit: str) -> bool:
    """Whether ``lower_is_better`` has an answer."""
    try:
        lower_is_better(unit)
    except UnknownUnit:
        return False
    return True
