"""Ranges of sizes as addresses say them: ``8k-16k``, ``1g-4g``. Pure."""

import re

from fsbench_web.core.scoring.profiles.definition import LARGEST_KB, Sizes

_RANGE = re.compile(r"([0-9]{1,13})\s*([kmg]?)b?(?:\s*-\s*([0-9]{1,13})\s*([kmg]?)b?)?")
_TIMES = {"": 1, "k": 1, "m": 1024, "g": 1024 * 1024}


def sizes_of(text: str) -> Sizes:
    """Sizes of 1024 bytes, KB where nothing is said. Raises ValueError with what it can be."""
    ends = _RANGE.fullmatch(text.strip().lower())
    if ends is None:
        raise ValueError("sizes as 8k-16k or 1g-4g")
    least = int(ends[1]) * _TIMES[ends[2]]
    most = int(ends[3]) * _TIMES[ends[4] or ""] if ends[3] else least
    if not 0 < least <= most <= LARGEST_KB:
        raise ValueError("sizes from the smallest to the largest, as 8k-16k")
    return Sizes(least, most)


def text_of(sizes: Sizes) -> str:
    """The one way in which an address says them."""
    if sizes.least == sizes.most:
        return _size(sizes.least)
    return f"{_size(sizes.least)}-{_size(sizes.most)}"


def canonical(text: str) -> str:
    """A range as an address says it. Raises ValueError."""
    return text_of(sizes_of(text))


def _size(kb: int) -> str:
    for letter in "km":
        if kb % 1024:
            return f"{kb}{letter}"
        kb //= 1024
    return f"{kb}g"
