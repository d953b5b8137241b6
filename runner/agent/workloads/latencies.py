"""Percentiles and maximum of latencies, one JSON object a line. Nearest rank (Hyndman and Fan 1996,
definition 1). Standard library only.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

# By name: of 10,000 latencies so many are no greater.
PERCENTILES = {"p50": 5000, "p90": 9000, "p95": 9500, "p99": 9900, "p99.9": 9990, "p99.99": 9999}
# A percentile is told where at least so many latencies are beyond it: of fewer it is a matter of
# chance.
LEAST_BEYOND = 10


def percentiles(ordered: Sequence[float]) -> Iterator[tuple[str, float]]:
    """("p99", its latency) of latencies that are in order, and ("max", the largest)."""
    for name, not_greater in PERCENTILES.items():
        # Whole numbers: 0.1% of 10,000 are ten, and with fractions they are less.
        beyond = len(ordered) * (10_000 - not_greater) // 10_000
        if beyond >= LEAST_BEYOND:
            yield name, ordered[len(ordered) - beyond - 1]
    if ordered:
        yield "max", ordered[-1]


def print_number(test: str, value: str, unit: str, load: Mapping[str, int]) -> None:
    """Print a number as fsbench_web/core/formats/agent_lines.py reads it."""
    print(json.dumps({"fsbench": test, "value": value, "unit": unit, "load": load}), flush=True)


def latency_tests(test: str, ordered_ns: Sequence[float], load: Mapping[str, int]) -> None:
    """All of them in milliseconds, under the names that fio's have: ``TEST_lat_p99``."""
    for name, latency in percentiles(ordered_ns):
        print_number(f"{test}_lat_{name}", f"{latency / 1e6:.6f}", "ms", load)
