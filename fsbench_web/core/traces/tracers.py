"""What an extra run may be traced with: a closed list. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

REQUESTS = "requests"
OPERATIONS = "operations"


@dataclass(frozen=True)
class Tracer:
    """``description`` says what it shows."""

    slug: str
    label: str
    description: str


TRACERS: dict[str, Tracer] = {
    REQUESTS: Tracer(
        REQUESTS,
        "Requests of the device",
        "how long each request took, by operation, and where on the LUN it went when",
    ),
    OPERATIONS: Tracer(
        OPERATIONS,
        "Operations of the file system",
        "how long each read, write, open and sync took within the kernel, by bpftrace",
    ),
}


def joined(slugs: tuple[str, ...]) -> str:
    """As runs keep them."""
    return " ".join(slugs)


def split(text: str) -> tuple[str, ...]:
    """The inverse; what this version does not know any more is left out."""
    return tuple(slug for slug in text.split() if slug in TRACERS)


def bin_edge(place: int) -> int:
    """Where a bin of latencies begins: bin 0 is below 2, bin k from 2^k to below 2^(k+1)."""
    return 0 if place == 0 else 1 << place


def latency_rows(latencies: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, int, int, int]]:
    """(operation, from, below, how many) of the bins that are not empty."""
    for name, counts in latencies.items():
        for place, count in enumerate(counts):
            if count:
                yield name, bin_edge(place), bin_edge(place + 1), count
