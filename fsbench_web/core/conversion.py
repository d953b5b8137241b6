"""Exact conversion between units of one dimension. Pure.

A number is kept as it was printed; only what is shown side by side is brought to one unit, in
fractions. Factors are those of IEC 80000-13 (KiB) and of the SI (kB). "KB" and "MB" say either:
what a tool means by them is in ``MEANT_BY``, with its source, and of any other it must be asked.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

RATE, SIZE, TIME, OPERATIONS = "bytes a second", "bytes", "seconds", "operations a second"


@dataclass(frozen=True)
class Meaning:
    """A unit as ``factor`` of the unit that its dimension is named after."""

    dimension: str
    factor: Fraction


_PREFIXES = {
    **{sign: 1000**n for n, sign in enumerate(("", "k", "M", "G", "T"))},
    **{f"{sign}i": 1024**n for n, sign in enumerate(("K", "M", "G", "T"), start=1)},
}
_OPEN = {"KB": 1, "MB": 2, "GB": 3, "TB": 4}
"""Letters that are 1000 or 1024 to this power."""
_TIMES = {
    **{"ns": Fraction(1, 10**9), "µs": Fraction(1, 10**6), "ms": Fraction(1, 1000)},
    **{"s": Fraction(1), "min": Fraction(60), "h": Fraction(3600)},
}
_CLOSED = {
    **{f"{sign}B": Meaning(SIZE, Fraction(n)) for sign, n in _PREFIXES.items()},
    **{f"{sign}bit": Meaning(SIZE, Fraction(n, 8)) for sign, n in _PREFIXES.items()},
    **{unit: Meaning(TIME, factor) for unit, factor in _TIMES.items()},
    **{unit: Meaning(OPERATIONS, Fraction(1)) for unit in ("ops/s", "IOPS", "TPS", "files/s")},
    "bytes": Meaning(SIZE, Fraction(1)),
}
for _ambiguous in _OPEN:
    _CLOSED.pop(_ambiguous, None)


@dataclass(frozen=True)
class Meant:
    """``base``: 1000 or 1024, and where that is said."""

    base: int
    source: str


MEANT_BY = {
    "iozone": Meant(1024, "IOzone's documentation: rates are in KB of 1024 bytes"),
    "postmark": Meant(1024, "PostMark 1.51's report, and TR3022 (Katcher, 1997)"),
    "bonnie++": Meant(1024, "bonnie++'s readme: K are of 1024 bytes"),
    "fio": Meant(1024, "fio's HOWTO, kb_base; what fio 3 calls KiB is kept as KB"),
    "crystaldiskmark": Meant(1000, "the head of its text: MB/s = 1,000,000 bytes/s"),
    "dbench": Meant(1000, "dbench.c of versions 2 to 4: 1.0e-6 * total_bytes / t"),
}
"""What KB, MB, GB and TB are in the results of a tool as its format keeps them, of all versions
that it reads: what some print otherwise (fio 3, IO500 until SC19) is told apart while it is read.
A tool that is not here has to be asked about.
"""


def meaning(unit: str, tool: str = "") -> Meaning | None:
    """What a unit is in results of ``tool``; None for one that is not known, or says either."""
    unit = unit.strip()
    if (found := _CLOSED.get(unit)) is not None:
        return found
    plain = unit.removesuffix("/s")
    dimension = SIZE if plain == unit else RATE
    if plain in _OPEN:
        meant = MEANT_BY.get(tool)
        if meant is None:
            return None
        return Meaning(dimension, Fraction(meant.base ** _OPEN[plain]))
    size = _CLOSED.get(plain)
    is_rate = dimension == RATE and size is not None and size.dimension == SIZE
    return Meaning(RATE, size.factor) if is_rate and size is not None else None


def converted(text: str, unit: Meaning, to: Meaning) -> Fraction:
    """A number as it was printed, in another unit of its dimension. Raises ValueError."""
    if unit.dimension != to.dimension:
        raise ValueError(f"{unit.dimension} are no {to.dimension}.")
    return Fraction(Decimal(text)) * unit.factor / to.factor
