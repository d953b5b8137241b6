"""Latencies of single intervals. Pure.

Vdbench prints 0 where nothing was done, and where it took less than the last digit. The rate of the
same interval tells them apart.
"""

from collections.abc import Iterable, Mapping

from fsbench_web.core.formats.values import Collector, number

READ_PERCENT = "read_percent"
_RESPONSE = "response"
_NONE_AT = {"read_": 0.0, "write_": 100.0}
"""Of how many percent reads an operation was not done."""


def samples(
    collector: Collector, kind: str, rows: Iterable[Mapping[str, str]], line: int, test: str
) -> list[float]:
    """What the intervals have of a kind (``iops``, ``read_response``); ``rows`` are texts by kind.

    One without an operation has no latency: it is left out, which a note says.
    """
    values, idle = [], 0
    for row in rows:
        value = number(row[kind])
        if value is None:
            continue
        if value == 0 and kind.endswith(_RESPONSE) and _is_idle(row, kind):
            idle += 1
        else:
            values.append(value)
    if idle:
        message = (
            f"{idle:,} of {idle + len(values):,} intervals had no operation and have no latency"
        )
        collector.warn(line, f"{test}: {message}.", is_note=True)
    return values


def _is_idle(row: Mapping[str, str], kind: str) -> bool:
    """Whether the interval says that it had none of what the latency is of."""
    operation = kind.removesuffix(_RESPONSE)
    if f"{operation}iops" in row:
        return number(row[f"{operation}iops"]) == 0
    # Raw I/O has one rate, and the share of reads in it.
    none_at = _NONE_AT.get(operation)
    return number(row.get("iops", "")) == 0 or (
        none_at is not None and number(row.get(READ_PERCENT, "")) == none_at
    )
