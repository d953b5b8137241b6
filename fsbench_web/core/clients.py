"""What several clients measured at the same time, as one result. Pure.

- Rates (work per time) are summed; ``overlap`` says how long all clients worked.
- Latencies are merged if every client kept its distribution (``core.latency``).
- The largest latency, and the time of a whole piece of work, are those of the slowest client.

Everything else stays with the client: averages, percentiles without distributions (G. Tene, "How
NOT to measure latency"), shares of a processor, extremes of several rates.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsbench_web.core import latency, units
from fsbench_web.core.formats.result import ParsedResult, ParsedValue
from fsbench_web.core.latency import Distribution

_Key = tuple[str, str, int | None, int | None]
"""(test, load, record KB, file KB)"""
_Latencies = Mapping[tuple[str, str], Sequence[Distribution]]
_WHOLE_TIMES = frozenset({"s", "sec", "second", "seconds", "min", "minutes", "h"})
_ONE_OF_SEVERAL = re.compile(r".+_(min|max|avg)")
_OF_A_LATENCY = re.compile(r"(.+_(?:clat|lat|slat))_(mean|max|p[0-9]{1,3}(?:\.[0-9]+)?)")


@dataclass(frozen=True)
class CombinedValues:
    """``values`` of all clients; ``incomplete_tests``: names of tests that some clients lack."""

    values: tuple[ParsedValue, ...]
    distributions: tuple[Distribution, ...]
    incomplete_tests: tuple[str, ...]


def combined_values(clients: Sequence[Sequence[ParsedResult]]) -> CombinedValues:
    """What at least two clients measured, each its results in the same order."""
    by_client = [_by_key(results) for results in clients]
    latencies = _whole_latencies(clients)
    values: list[ParsedValue] = []
    incomplete_tests: dict[str, None] = {}
    for key in dict.fromkeys(key for client_values in by_client for key in client_values):
        per_client = [client_values[key] for client_values in by_client if key in client_values]
        value = _value(per_client, latencies) if len(per_client) == len(clients) else None
        if value is None:
            incomplete_tests[key[0]] = None
        else:
            first = per_client[0]
            values.append(
                ParsedValue(
                    *(first.test, first.record_size_kb, first.file_size_kb, value, first.unit, 0),
                    load=first.load,
                )
            )
    distributions = tuple(latency.merged(parts) for parts in latencies.values())
    return CombinedValues(tuple(values), distributions, tuple(incomplete_tests))


def overlap(times: Sequence[tuple[float, float]]) -> float | None:
    """The share of the time in which all worked; ``times``: (begin, end) in s. None for no time."""
    whole = max((end for _, end in times), default=0.0) - min((b for b, _ in times), default=0.0)
    if whole <= 0:
        return None
    common = min(end for _, end in times) - max(begin for begin, _ in times)
    return max(0.0, common) / whole


def _by_key(results: Sequence[ParsedResult]) -> dict[_Key, ParsedValue]:
    """The values by what they are of; of one that is there more than once nobody knows which."""
    values: dict[_Key, ParsedValue] = {}
    counts: Counter[_Key] = Counter()
    for value in (value for result in results for value in result.values):
        key = (value.test, value.load, value.record_size_kb, value.file_size_kb)
        counts[key] += 1
        values[key] = value
    return {key: value for key, value in values.items() if counts[key] == 1}


def _whole_latencies(clients: Sequence[Sequence[ParsedResult]]) -> _Latencies:
    """The latencies that all clients kept whole, of each, by test and load."""
    by_client = [
        latency.by_test(distribution for result in results for distribution in result.distributions)
        for results in clients
    ]
    shared = [key for key in by_client[0] if all(key in latencies for latencies in by_client)]
    per_client = {key: [latencies[key] for latencies in by_client] for key in shared}
    return {
        key: parts for key, parts in per_client.items() if len({part.unit for part in parts}) == 1
    }


def _value(per_client: Sequence[ParsedValue], latencies: _Latencies) -> float | None:
    """All clients' value of one test; None if there is none."""
    first = per_client[0]
    if any(value.unit != first.unit for value in per_client):
        return None
    if units.is_rate(first.unit):
        if _ONE_OF_SEVERAL.fullmatch(first.test):
            return None
        return sum(value.value for value in per_client)
    if match := _OF_A_LATENCY.fullmatch(first.test):
        return _latency(per_client, match[2], latencies.get((match[1], first.load), ()))
    if first.unit in _WHOLE_TIMES:
        return max(value.value for value in per_client)
    return None


def _latency(
    per_client: Sequence[ParsedValue], statistic: str, latencies: Sequence[Distribution]
) -> float | None:
    if statistic == "max":
        return max(value.value for value in per_client)
    if not latencies or latencies[0].unit != per_client[0].unit:
        return None
    if statistic == "mean":
        counts = [distribution.total for distribution in latencies]
        weighed = (value.value * count for value, count in zip(per_client, counts, strict=True))
        return sum(weighed) / sum(counts)
    return float(latency.merged(latencies).percentile(statistic.removeprefix("p")))
