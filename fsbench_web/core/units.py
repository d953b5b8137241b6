"""Units: which are better when they are small, and exact conversion within a dimension. Pure.

Only numbers shown side by side are converted, in fractions. Factors: IEC 80000-13 (KiB) and SI
(kB). What a tool means by KB and MB is in ``MEANT_BY``. pint 0.25 knows neither, loads in half a
second and takes 112 µs a number (2 µs here).
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

SUM = "score"
"""The unit of an overall score of rates, as the paper prints it: a sum of six is not a rate."""

RATIO = "×"
"""The unit of ratios of speed to a baseline: 2 is twice as fast."""

_TIME_NAMES = {"s", "sec", "second", "seconds", "ms", "us", "µs", "μs", "ns", "min", "minutes", "h"}
_SPACE_NAMES = {"bytes", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}
_LOAD = {"% CPU", "%CPU"}
# Of what a run's work cost (core.activity.costs); "KiB/request" is neither better nor worse.
_PRICES = [f"{currency}/million ops" for currency in ("EUR", "USD", "GBP", "CHF")]
_COSTS = {"B/B", "flushes/1000 ops", "CPU s/GiB", "% of time", "J/GiB", *_PRICES}
_GAINS = {"ops/CPU s"}
_RATE = re.compile(
    r".+(/s|/sec|/second| per second|/min|/minute| per minute)|[km]?iops|ops|tps|[kmgt]?i?bps",
    re.IGNORECASE,
)


class UnknownUnit(ValueError):
    """It is not known whether more of this unit is better."""


def lower_is_better(unit: str) -> bool:
    """True for times ("CPU seconds"), space and costs; False for rates. Raises UnknownUnit."""
    unit = unit.strip()
    if unit in (SUM, RATIO) or unit in _GAINS or _RATE.fullmatch(unit):
        return False
    if (
        unit in _LOAD
        or unit in _COSTS
        or unit.removeprefix("SI ") in _SPACE_NAMES
        or (unit.split() or [""])[-1] in _TIME_NAMES
    ):
        return True
    raise UnknownUnit(
        f'fsbench does not know whether more or less of "{unit}" is better: '
        "use a rate (KB/s, operations/s) or a time (s, ms)."
    )


def is_rate(unit: str) -> bool:
    """Whether it is work per time: KB/s, IOPS."""
    return _RATE.fullmatch(unit.strip()) is not None


def overall_unit(unit: str) -> str:
    """The unit of a test's overall score: SUM of rates, its own of times and unknown units."""
    return SUM if is_known(unit) and not lower_is_better(unit) else unit


def is_known(unit: str) -> bool:
    """Whether ``lower_is_better`` has an answer."""
    try:
        lower_is_better(unit)
    except UnknownUnit:
        return False
    return True


PRINTED, BINARY, DECIMAL = "printed", "binary", "decimal"
"""How the reader chooses units; "": as printed where all agree, else binary."""
ONE = Fraction(1)
"""``DisplayUnit.times`` without a conversion is this very object: each number is asked."""
RATE, SIZE, TIME, OPERATIONS = "bytes a second", "bytes", "seconds", "operations a second"


@dataclass(frozen=True)
class UnitFactor:
    """A unit as ``factor`` of the unit that its dimension is named after."""

    dimension: str
    factor: Fraction


_PREFIXES = {
    **{sign: 1000**n for n, sign in enumerate(("", "k", "M", "G", "T"))},
    **{f"{sign}i": 1024**n for n, sign in enumerate(("K", "M", "G", "T"), start=1)},
}
_OPEN = {"KB": 1, "MB": 2, "GB": 3, "TB": 4}
"""Letters that are 1000 or 1024 to this power."""
OPEN_UNITS = frozenset(_OPEN)
_TIMES = {
    **{"ns": Fraction(1, 10**9), "µs": Fraction(1, 10**6), "ms": Fraction(1, 1000)},
    **{"s": Fraction(1), "min": Fraction(60), "h": Fraction(3600)},
}
_CLOSED = {
    **{f"{sign}B": UnitFactor(SIZE, Fraction(n)) for sign, n in _PREFIXES.items()},
    **{f"{sign}bit": UnitFactor(SIZE, Fraction(n, 8)) for sign, n in _PREFIXES.items()},
    **{unit: UnitFactor(TIME, factor) for unit, factor in _TIMES.items()},
    **{unit: UnitFactor(OPERATIONS, Fraction(1)) for unit in ("ops/s", "IOPS", "TPS", "files/s")},
    "kIOPS": UnitFactor(OPERATIONS, Fraction(1000)),
    "MIOPS": UnitFactor(OPERATIONS, Fraction(1_000_000)),
    "bytes": UnitFactor(SIZE, Fraction(1)),
}
for _ambiguous in _OPEN:
    _CLOSED.pop(_ambiguous, None)
_SI = "SI "
"""Before KB, MB, GB and TB that somebody said are of 1000: no other letters say so."""
_SHOWN = {
    BINARY: {RATE: "MiB/s", SIZE: "MiB", OPERATIONS: "ops/s"},
    DECIMAL: {RATE: f"{_SI}MB/s", SIZE: f"{_SI}MB", OPERATIONS: "ops/s"},
}
"""The one unit of each dimension; of times it is the longest that any was printed in."""


@dataclass(frozen=True)
class UnitBase:
    """``base``: 1000 or 1024, and where that is said."""

    base: int
    source: str


MEANT_BY = {
    "iozone": UnitBase(1024, "IOzone's documentation: rates are in KB of 1024 bytes"),
    "postmark": UnitBase(1024, "PostMark 1.51's report, and TR3022 (Katcher, 1997)"),
    "bonnie++": UnitBase(1024, "bonnie++'s readme: K are of 1024 bytes"),
    **dict.fromkeys(
        ("fio", "own-fio", "fio-depths", "pgmeter", "random-access"),
        UnitBase(1024, "fio's HOWTO, kb_base; what fio 3 calls KiB is kept as KB"),
    ),
    "hdparm": UnitBase(1024, "hdparm.c 9.65, time_device: kB/sec is of blocks of 1024 bytes"),
    "source-copy": UnitBase(1024, "GNU coreutils' manual: du -k counts blocks of 1024 bytes"),
    "dd": UnitBase(1000, "GNU coreutils' manual, dd invocation: MB is 1,000,000 bytes"),
    "elbencho": UnitBase(1000, "elbencho --help-all: --base10 uses units of 1000; others are MiB"),
    "crystaldiskmark": UnitBase(1000, "the head of its text: MB/s = 1,000,000 bytes/s"),
    "dbench": UnitBase(1000, "dbench.c of versions 2 to 4: 1.0e-6 * total_bytes / t"),
    "study:unisys-2005": UnitBase(
        1024, "the study measured with IOzone 3.233, and printed its KB/s"
    ),
}
"""What KB, MB, GB and TB are in the results of a tool, as its format keeps them, for all versions.
The format detects versions that print other units (fio 3, IO500 until SC19). A workload of
fsbench's is here by its name, a paper as its study. For any other tool, fsbench has to ask.
"""


@lru_cache(maxsize=4096)
def unit_factor(unit: str, tool: str | None = None) -> UnitFactor | None:
    """What a unit is in results of ``tool``; None for one that is not known, or says either."""
    unit = unit.strip()
    base = 1000 if unit.startswith(_SI) else 0
    unit = unit.removeprefix(_SI)
    if not base and (meaning := _CLOSED.get(unit)) is not None:
        return meaning
    plain = unit.removesuffix("/s")
    dimension = SIZE if plain == unit else RATE
    if plain in _OPEN:
        meant = MEANT_BY.get(tool or "")
        base = base or (meant.base if meant else 0)
        return UnitFactor(dimension, Fraction(base ** _OPEN[plain])) if base else None
    size = None if base else _CLOSED.get(plain)
    is_rate = dimension == RATE and size is not None and size.dimension == SIZE
    return UnitFactor(RATE, size.factor) if is_rate and size is not None else None


_MOST = {TIME: 10 * 366 * 86400.0, RATE: 1e17, OPERATIONS: 1e15, SIZE: 2.0**63}
"""Beyond ten years, 100 PB/s and what a 63-bit count holds, a number is a counter that ran over:
2**64 ns are 584 years.
"""


@lru_cache(maxsize=4096)
def most_measurable(unit: str) -> float:
    """The largest number in ``unit`` that a clock, disk or network can give, or infinity."""
    factor = unit_factor(unit) or unit_factor(_SI + unit.strip())
    if factor is None:
        return _MOST[OPERATIONS] if unit.endswith(("/s", "/min")) else math.inf
    return _MOST[factor.dimension] / float(factor.factor)


def is_ambiguous(unit: str, tool: str | None = None) -> bool:
    """Whether it must be asked what KB, MB, GB or TB of a unit are."""
    return unit.strip().removesuffix("/s") in _OPEN and unit_factor(unit, tool) is None


def base_of(unit: str, factor: Fraction) -> int | None:
    """What KB, MB, GB or TB of a unit of ``factor`` bytes are: 1000 or 1024; None of any other."""
    power = _OPEN.get(unit.strip().removeprefix(_SI).removesuffix("/s"))
    if power is None:
        return None
    return next((base for base in (1000, 1024) if factor == base**power), None)


def explicit_unit(unit: str, base: int) -> str:
    """An open unit as one that says itself what it is: ``KiB/s``, ``kB/s``, ``SI MB/s``."""
    unit = unit.strip()
    if base == 1024:
        return f"{unit[0]}i{unit[1:]}"
    return f"k{unit[1:]}" if unit[0] == "K" else f"{_SI}{unit}"


def exact_fraction(value: float) -> Fraction:
    """The decimal that people see of a finite number, which is what a tool printed."""
    return Fraction(Decimal(repr(float(value))))


def converted(value: float, times: Fraction) -> float:
    """``exact_fraction(value) * times``, rounded once."""
    number, whole = Decimal(repr(float(value))).as_integer_ratio()
    return number * times.numerator / (whole * times.denominator)


@dataclass(frozen=True)
class DisplayUnit:
    """A unit among others: ``times`` a number in it is one in ``unit``, unless unexplained."""

    unit: str
    times: Fraction = ONE
    is_unexplained: bool = False

    @property
    def is_converted(self) -> bool:
        return self.times is not ONE


Printed = tuple[str, str | None]
"""A unit as printed, and the tool that printed it."""


def shown_units(printed: Collection[Printed], system: str = "") -> dict[Printed, DisplayUnit]:
    """The unit in which numbers of one thing are shown side by side, for each printed unit.

    One unit for a dimension; unknown units stay. Where all agree they stay, too, unless ``system``
    is BINARY or DECIMAL; PRINTED converts none. SUM of an unknown unit goes with the others' unit.
    """
    units = {unit for unit, _ in printed} - {SUM}
    meanings = {pair: unit_factor(*pair) for pair in printed}
    factors = {meaning.factor for meaning in meanings.values() if meaning is not None}
    if len(units) <= 1 and len(factors) <= 1 and system in ("", PRINTED):
        common = next(iter(units), SUM)
        return {pair: DisplayUnit(common) for pair in printed}
    if system == PRINTED:
        return {pair: DisplayUnit(pair[0]) for pair in printed}
    dimensions: dict[str, list[Printed]] = {}
    for pair, meaning in meanings.items():
        if meaning is not None:
            dimensions.setdefault(meaning.dimension, []).append(pair)
    target = {name: _target(name, pairs, system) for name, pairs in dimensions.items()}
    result = {}
    for pair, meaning in meanings.items():
        shown_unit = target[meaning.dimension] if meaning is not None else None
        if meaning is None:
            result[pair] = DisplayUnit(
                pair[0], is_unexplained=pair[0] == SUM or is_ambiguous(*pair)
            )
        elif shown_unit is None:
            result[pair] = DisplayUnit(pair[0])
        else:
            times = meaning.factor / _factor(shown_unit)
            result[pair] = DisplayUnit(shown_unit.removeprefix(_SI), ONE if times == 1 else times)
    return result


def _target(dimension: str, printed: Collection[Printed], system: str) -> str | None:
    """The unit that numbers of a dimension are shown in; None: as they were printed."""
    has_systems = dimension in (RATE, SIZE)
    is_alike = len({(unit, _factor(unit, tool)) for unit, tool in printed}) == 1
    if is_alike and not (has_systems and system):
        return None
    if dimension == TIME:
        return max((unit for unit, _ in printed), key=_factor)
    return _SHOWN[system or BINARY][dimension]


def _factor(unit: str, tool: str | None = None) -> Fraction:
    meaning = unit_factor(unit, tool)
    assert meaning is not None  # only of units that are known
    return meaning.factor
