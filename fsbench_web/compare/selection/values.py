"""The values of a comparison's parameters: read, written, and what to say of others."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from fsbench_web.compare.selection.settings import (
    ANSWERS,
    CELLS,
    CONTENDERS,
    EMULATED,
    PAPERS,
    RULES,
    SORTS,
    UNITS,
)
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


LONGEST_VALUE = 200
# Of what a refusal names: it must stay readable, whatever was asked.
UNKNOWN_NAMED = 3
NAMED_AT_MOST = 24
_CHOICES = {
    **{"by": CONTENDERS, "cells": CELLS, "emulated": EMULATED, "units": UNITS},
    **{"sort": SORTS, "rule": RULES, "papers": {"": "", **PAPERS}},
    **{"cached": ANSWERS, "flushed": ANSWERS},
}
_PROFILE = re.compile(r"[a-z0-9][a-z0-9-]{0,59}(@[1-9][0-9]{0,5})?")


def _contender(text: str) -> str:
    if len(text) > LONGEST_VALUE or "\x00" in text:
        raise ValueError("the name of a contender of the tables")
    return text


def _profile(text: str) -> str:
    if not _PROFILE.fullmatch(text):
        raise ValueError("the name of a work profile, as oltp, or a version of it, as oltp@1")
    return text


def _flag(text: str) -> bool:
    if text != "1":
        raise ValueError("1, or left out")
    return True


def _percent(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 100:
        raise ValueError("a number of percent from 0 to 100")
    return number + 0.0  # -0 is 0


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 6 and int(text) > 0):
        raise ValueError("a whole number of runs from 1")
    return int(text)


def _place(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) > 0):
        raise ValueError("a whole number from 1")
    return int(text)


_READ: dict[str, Callable[[str], Any]] = {
    "profile": _profile,
    "block": canonical,
    "file": canonical,
    "baseline": _contender,
    "matched": _flag,
    "margin": _percent,
    "equivalence": _percent,
    "min_runs": _count,
    "from_test": _place,
    "from_row": _place,
}


def read(name: str, text: str) -> Any:
    """The value of a parameter that is given once. Raises ValueError with what it can be."""
    if name in _READ:
        return _READ[name](text)
    if text not in _CHOICES[name]:
        raise ValueError(_alternatives([choice for choice in _CHOICES[name] if choice]))
    return text


def as_text(value: object) -> str:
    """The inverse."""
    if value is True:
        return "1"
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _alternatives(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def unknown(parameter: str, values: Iterable[str], known_values: Iterable[str]) -> list[str]:
    """One sentence however many values nobody knows, and however many there are to name."""
    known_values = dict.fromkeys(known_values)
    unknown = [value for value in values if value not in known_values]
    if not unknown:
        return []
    listed = ", ".join(map(shortened, islice(known_values, NAMED_AT_MOST))) or "none yet"
    more = len(known_values) - NAMED_AT_MOST
    there_is = f"{listed} and {more} more" if more > 0 else listed
    return [f"There is no {parameter} {quoted(unknown)}; there is {there_is}."]


def quoted(names: Sequence[str]) -> str:
    """``"a"``, ``"a" or "b"``; of many the first ones, and how many there are."""
    first = [f'"{shortened(name)}"' for name in names[:UNKNOWN_NAMED]]
    if len(names) > UNKNOWN_NAMED:
        return f"{', '.join(first)} and {len(names) - UNKNOWN_NAMED} more ({len(names)} in all)"
    return " or ".join(part for part in (", ".join(first[:-1]), first[-1]) if part)


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
