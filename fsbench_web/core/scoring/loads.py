"""Loads as tools name them, ``iodepth=4,jobs=8``: which of it is varied, and how it is called."""

from collections import defaultdict
from collections.abc import Iterable

QUEUE_DEPTH = "queue depth"
DEPTHS = ("iodepth", "qd", "outstanding")
"""What tools call it."""
# One of them, and several: "1 job", "8 jobs".
_COUNTED = {
    "jobs": ("job", "jobs"),
    "threads": ("thread", "threads"),
    "processes": ("process", "processes"),
    "clients": ("client", "clients"),
    "tasks": ("task", "tasks"),
    "cpus": ("processor", "processors"),
    "transactions": ("transaction", "transactions"),
    "files": ("file", "files"),
    # Sizes that are varied as a load is: a file's, and the one around which Mongo's files are.
    "mb": ("MB a file", "MB a file"),
    "bytes": ("byte a file", "bytes a file"),
}
_ABOUT = {"bytes"}
_AXES = {
    **dict.fromkeys(DEPTHS, QUEUE_DEPTH),
    "cpus": "processors",
    "mb": "file size in MB",
    "bytes": "base file size in bytes",
}


def varied(loads: Iterable[str]) -> str:
    """The name with the most different numbers, the first of equal ones; "" for none."""
    numbers: dict[str, set[float]] = defaultdict(set)
    for load in loads:
        for name, number in _parts(load).items():
            numbers[name].add(number)
    return max(numbers, key=lambda name: len(numbers[name]), default="")


def split(load: str, name: str) -> tuple[float | None, str]:
    """The number of ``name`` in a load, None where it has none, and the rest of it in words."""
    parts = _parts(load)
    number = parts.pop(name, None)
    return number, ", ".join(_counted(key, value) for key, value in parts.items())


def words(load: str) -> str:
    """``iodepth=4,jobs=1`` as "queue depth 4, 1 job"; unknown names as "queues 8"."""
    parts = _parts(load)
    return ", ".join(_counted(name, value) for name, value in parts.items()) if parts else load


def label(name: str) -> str:
    return _AXES.get(name, name or "load")


def _counted(name: str, number: float) -> str:
    if name in DEPTHS:
        return f"{QUEUE_DEPTH} {number:,.0f}"
    if name not in _COUNTED:
        return f"{name} {number:,.0f}"
    about = "about " if name in _ABOUT else ""
    return f"{about}{number:,.0f} {_COUNTED[name][number != 1]}"


def _parts(load: str) -> dict[str, float]:
    counts = {}
    for part in load.split(","):
        name, _, text = part.strip().partition("=")
        if name and text.isascii() and text.isdecimal():
            counts[name] = float(text)
    return counts
