"""Loads as tools name them, ``iodepth=4,jobs=8``: which of it is varied, and how it is called."""

from collections import defaultdict
from collections.abc import Iterable

_LABELS = {
    "iodepth": "outstanding I/O (iodepth)",
    "qd": "outstanding I/O (queue depth)",
    "outstanding": "outstanding I/O",
}


def varied(loads: Iterable[str]) -> str:
    """What the loads differ in most: the name with the most different numbers; "" for none.

    Of two that are varied alike the one that is named first.
    """
    numbers: dict[str, set[float]] = defaultdict(set)
    for load in loads:
        for name, number in _parts(load).items():
            numbers[name].add(number)
    return max(numbers, key=lambda name: len(numbers[name]), default="")


def split(load: str, name: str) -> tuple[float | None, str]:
    """The number of ``name`` in a load, None where it has none, and the rest of the load."""
    parts = _parts(load)
    number = parts.pop(name, None)
    return number, ", ".join(f"{key}={value:g}" for key, value in parts.items())


def label(name: str) -> str:
    """What people read at the axis."""
    return _LABELS.get(name, name or "load")


def _parts(load: str) -> dict[str, float]:
    found = {}
    for part in load.split(","):
        name, _, text = part.strip().partition("=")
        if name and text.isascii() and text.isdecimal():
            found[name] = float(text)
    return found
