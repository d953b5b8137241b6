"""What an extra run may be traced with: a closed list. Pure."""

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
