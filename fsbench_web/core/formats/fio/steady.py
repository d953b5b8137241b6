"""What fio says of the steady state at which a job was to stop (fio(1), "Steady state")."""

from decimal import Decimal

from fsbench_web.core.formats.json_text import Json, JsonList, JsonObject, Number
from fsbench_web.core.formats.values import Collector, test_name

_RATES = (("iops", "ops/s", Decimal(1)), ("bw", "KB/s", Decimal(1) / 1024))


def verdict(entry: JsonObject) -> bool | None:
    """Whether it was attained; None where the job was to stop at none, or nothing is said."""
    answer = entry.object("steadystate").number("attained")
    return None if answer is None else float(answer.text) != 0


def add_window(collector: Collector, name: str, entry: JsonObject, load: str) -> None:
    """The means of the window in which it was attained, its seconds as samples; else nothing.

    fio prints bytes a second there. ``name`` is that of job and direction.
    """
    if not verdict(entry):
        return
    data = entry.object("steadystate").object("data")
    for kind, unit, times in _RATES:
        mean = data.number(f"{kind}_mean")
        if mean is None or float(mean.text) <= 0:
            continue
        seconds = [value * float(times) for value in _numbers(data.get(kind))]
        test = test_name(name, f"steady_{kind}")
        collector.add(test, mean.text, unit, mean.line, times=times, load=load, samples=seconds)


def _numbers(values: Json) -> list[float]:
    if not isinstance(values, JsonList):
        return []
    return [float(value.text) for value in values if isinstance(value, Number)]
