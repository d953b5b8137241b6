"""How numbers are written on pages, in figures and in their text alternatives. Pure.

A missing number is an en dash, never a zero. Rates and scores have two decimals, as in the Unisys
paper; seconds up to three, so that no digit is invented. Values under each other align. Below 0.1 a
value has three significant digits; beyond a float's whole numbers it is a power of ten. Numbers of
one table have one unit, and digits by their intervals (``Scale``).

Rounding is half away from zero, of the shortest decimals that are the float (``repr``): 5.05 is
5.1.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

MISSING = "–"
MINUS = "\N{MINUS SIGN}"
KB = 1024
# Tools count latencies in nanoseconds; people read micro- and milliseconds. What is stored, and
# what machines are given, stays as the tool printed it: unit -> (unit shown, how many make one).
_SHOWN = {"ns": ("µs", 1000)}
_WITH_TWO_DECIMALS = frozenset(("KB/s", "KiB/s", "score"))
_NS_IN_MS = 1_000_000
_SMALL = 0.1
"""Below, three decimals say less than three digits."""
_NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")
_TINY, _HUGE = 1e-9, 1e15
"""Beyond these nobody counts the zeros, and digits would be invented."""
_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TEST_UNITS = tuple(unit.replace("i", "") for unit in _BINARY_UNITS)

_LETTERS = ("", "K", "M", "G", "T", "P")
_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}
_SHOWN_TIMES = (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0))
_SMALLEST, _LARGEST = 0.01, 1e4
"""Of a table with values far apart the unit is one in which the smallest is not below this, unless
the largest went beyond that."""
CHANCE = 0.05
"""Of p-values: what is above is chance."""
SIGNIFICANT_DIGITS = 3
"""Of a value without a known interval."""
_MOST_DECIMALS = 9


def number(value: float | None, decimals: int = 2) -> str:
    """``1147056.63`` as ``1,147,056.63``; not a number and infinity count as missing."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) >= _HUGE:
        return f"{value:.6g}"
    return fixed(value, decimals)


def fixed(value: float, decimals: int) -> str:
    """A finite number below 1e15 with so many decimals, and no sign before a zero."""
    exact = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = f"{exact:,.{decimals}f}"
    return text[1:] if text[0] == "-" and not text.strip("-0.,") else text


def scientific(value: float, digits: int) -> str:
    """A finite number with so many digits as a power of ten: ``1.23e+04``."""
    if value:
        exact = Decimal(repr(float(value)))
        place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        rounded = float(exact.quantize(place, ROUND_HALF_UP))
        value = rounded if math.isfinite(rounded) else value  # the largest of all floats
    return f"{value:.{digits - 1}e}"


def unit_name(unit: str) -> str:
    """The unit in which ``amount`` writes values in ``unit``: for headings and axes."""
    return _SHOWN[unit][0] if unit in _SHOWN else unit


def exact_amount(value: float | None, unit: str) -> str:
    """The number as it is stored, with its unit, where ``amount`` writes another; else ""."""
    if unit not in _SHOWN or value is None or not math.isfinite(value):
        return ""
    return f"{value!r} {unit}"


def scaled(value: float, unit: str) -> float:
    """A value in ``unit`` as one in ``unit_name(unit)``."""
    return value / _SHOWN[unit][1] if unit in _SHOWN else value


def amount(value: float | None, unit: str, least: int = 0) -> str:
    """A value in ``unit_name(unit)`` with its usual decimals, ``least`` or more; no unit."""
    if value is None or not math.isfinite(value):
        return MISSING
    value = scaled(value, unit)
    if 0 < abs(value) < _SMALL:
        return _small(value, 2 if unit in _WITH_TWO_DECIMALS else least)
    if unit in _WITH_TWO_DECIMALS or abs(value) >= _HUGE:
        return number(value)
    whole, decimals = fixed(value, 3).split(".")
    decimals = decimals.rstrip("0").ljust(least, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _small(value: float, least: int) -> str:
    """Three significant digits, and a power of ten only where nobody counts the zeros."""
    if abs(value) < _TINY:
        return f"{value:.3g}"
    whole, decimals = f"{Decimal(scientific(value, 3)):f}".split(".")
    return f"{whole}.{decimals.rstrip('0').ljust(least, '0')}"


def least_decimals(values: Iterable[float | None]) -> int:
    """Decimals of values under each other: none where all are whole, else two."""
    finite = (value for value in values if value is not None and math.isfinite(value))
    return 0 if all(value == round(value) for value in finite) else 2


def with_unit(value: float | None, unit: str) -> str:
    """A value with its unit: ``692,055.00 KB/s``, ``815.24 µs``, ``25.5% of time``."""
    if unit == "ns" and value is not None and abs(value) >= _NS_IN_MS:
        value, unit = value / _NS_IN_MS, "ms"
    text = amount(value, unit)
    if text == MISSING or unit in {"", "score"}:
        return text
    return f"{text}{'' if unit.startswith('%') else ' '}{unit_name(unit)}"


def span(low: float, high: float, unit: str) -> str:
    """``1.20 to 1.43 s``: both ends in one unit, which is written once."""
    if unit == "ns" and abs(high) >= _NS_IN_MS:
        low, high, unit = low / _NS_IN_MS, high / _NS_IN_MS, "ms"
    return f"{amount(low, unit)} to {with_unit(high, unit)}"


def with_minus(text: str) -> str:
    """The text with minus signs for the hyphens of negative numbers: for sentences only."""
    return _NEGATIVE.sub(MINUS, text)


def compact(value: float | None) -> str:
    """A value in three significant digits for the cells of a matrix: ``1.15 M``, ``692 k``."""
    if value is None or not math.isfinite(value):
        return ""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            return f"{float(f'{value / limit:.3g}'):g} {letter}"
    return f"{float(f'{value:.3g}'):g}"


def percent(value: float | None) -> str:
    """A percentage without its sign: two decimals, more where these would look like 0 or 100."""
    if value is None or not (0 < abs(value) < 0.005 or 99.99 < abs(value) < 100):
        return number(value)
    return f"{'-' if value < 0 else ''}{percent_size(abs(value), 2)}"


def percent_size(size: float, decimals: int) -> str:
    """A difference in percent with so many decimals, or enough not to look like 0 or 100."""
    if 0 < size < _TINY:
        return f"{size:.1g}"
    if size >= _HUGE:
        return f"{size:.6g}"
    text = fixed(size, decimals)
    if size > 0 and not text.strip("0."):
        return f"{Decimal(scientific(size, 1)):f}"
    while 99 < size < 100 and text.startswith("100"):
        decimals += 1
        text = fixed(size, decimals)
    return text


def signed_percent(value: float, decimals: int = 1) -> str:
    """A change in percent: ``+12.3``, ``\N{MINUS SIGN}99.97``; none at all has no sign."""
    sign = "+" if value > 0 else MINUS if value < 0 else ""
    return sign + percent_size(abs(value), decimals)


def ratio(value: float) -> str:
    """How many times: ``9.37``, from a hundred on without decimals: ``6,872``, and never zero."""
    return _small(value, 2) if 0 < value < 0.005 else number(value, 0 if value >= 100 else 2)


def half_width(percent: float) -> str:
    """``± 2.5%``: half of an interval, in percent of its mean. A small one is not written as 0."""
    return f"± {number(percent, 1)}%" if percent >= 0.05 or percent == 0 else "± < 0.1%"


def size(value_bytes: float | None) -> str:
    """Bytes in the largest unit of 1024 that keeps them at 1 or more: ``4 KiB`` (IEC 80000-13)."""
    return _size(value_bytes, _BINARY_UNITS)


def benchmark_size(value_kb: float | None) -> str:
    """KB of 1024 bytes as IOzone and the papers write them: ``4 KB``, ``1 MB``."""
    return _size(None if value_kb is None else value_kb * KB, _TEST_UNITS)


def _size(value_bytes: float | None, units: tuple[str, ...]) -> str:
    if value_bytes is None or not math.isfinite(value_bytes):
        return MISSING
    value, unit = float(value_bytes), 0
    while abs(value) >= KB and unit < len(units) - 1:
        value, unit = value / KB, unit + 1
    text = fixed(value, 1).replace(",", "").removesuffix(".0")
    return f"{text} {units[unit]}"


def duration(value_s: float | None) -> str:
    """Seconds in the two largest units that say something: ``2 h 5 min``, ``42 s``, ``0.35 s``."""
    if value_s is None or not math.isfinite(value_s):
        return MISSING
    if abs(value_s) < 10:
        return f"{float(f'{value_s:.2g}'):g} s"
    seconds = round(value_s)
    if seconds < 60:
        return f"{seconds} s"
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(index for index, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


def probability(p: float | None) -> str:
    """A p-value with two digits, more where rounding would cross 0.05: ``0.034``, ``0.0501``."""
    if p is None:
        return MISSING
    if p < 0.0001:
        return "below 0.0001"
    texts = (f"{p:.{digits}g}" for digits in (2, 3, 5, 17))
    return next(text for text in texts if _side(float(text)) == _side(p))


def _side(p: float) -> int:
    return (p > CHANCE) - (p < CHANCE)


def counted(count: int, noun: str) -> str:
    """So many of them: ``1 run``, ``1,234 runs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def words(slug: str) -> str:
    """``random_write`` as ``Random write``."""
    text = slug.replace("_", " ").replace("-", " ").strip()
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Scale:
    """``value / divisor`` is in ``unit``."""

    unit: str
    divisor: float = 1.0

    def amount(self, value: float, half_width: float | None = None) -> str:
        """A value as it is written below ``unit``; both are in the unit of before."""
        width = None if half_width is None else half_width / self.divisor
        return written(value / self.divisor, width)

    def suffix(self, unit: str) -> str:
        """What follows an amount of a value in ``unit``: `` s``, ``%``; "" for a score."""
        return "" if unit in {"", "score"} else f"{'' if unit.startswith('%') else ' '}{self.unit}"


def scale_of(unit: str, values: Iterable[float], base: int | None = None) -> Scale:
    """The unit in which all ``values``, which are in ``unit``, read best.

    ``base``: 1000 or 1024 for KB, MB and GB; None: they stay as they are.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    ladder = _ladder(unit.strip(), base)
    if not sizes or not ladder:
        return Scale(unit_name(unit), 1000.0 if unit == "ns" else 1.0)
    low, high = min(sizes), max(sizes)
    fitting = [index for index, (_, divisor) in enumerate(ladder) if high / divisor >= 1]
    place = fitting[-1] if fitting else 0
    while place and low / ladder[place][1] < _SMALLEST and high / ladder[place - 1][1] < _LARGEST:
        place -= 1
    return Scale(*ladder[place])


def exact_words(value: float, unit: str, shown: str) -> str:
    """The number as it is stored, with its unit, where ``shown`` has other digits; else ""."""
    if not math.isfinite(value) or shown.replace(",", "") == f"{value:.12f}".rstrip("0").rstrip(
        "."
    ):
        return ""
    return f"{value!r} {unit}".removesuffix(" score").rstrip()


def _ladder(unit: str, base: int | None) -> list[tuple[str, float]]:
    """Units of its kind with how many of ``unit`` they are, smallest first; [] of any other."""
    if unit in _TIMES:
        unit_size = _TIMES[unit]
        return [
            (unit if size == unit_size else name, _ratio(size, unit_size))
            for name, size in _SHOWN_TIMES
        ]
    plain = unit.removesuffix("/s")
    power, base = _power(plain, base)
    if base is None:
        return []
    behind = unit[len(plain) :]
    return [
        (unit if n == power else f"{_name(n, base)}{behind}", float(base) ** (n - power))
        for n in range(len(_LETTERS))
    ]


def _ratio(size: float, unit_size: float) -> float:
    """How many of one another is: powers of ten, without what dividing them adds."""
    return float(round(size / unit_size)) if size >= unit_size else 1 / round(unit_size / size)


def _power(plain: str, base: int | None) -> tuple[int, int | None]:
    """(power, base) of a unit of bytes; the base is None where it is not known."""
    if plain in ("B", "bytes"):
        return 0, base or 1024
    if plain == "kB":
        return 1, 1000
    letter, rest = plain[:1], plain[1:]
    if letter in _LETTERS[1:] and rest in ("B", "iB"):
        return _LETTERS.index(letter), 1024 if rest == "iB" else base
    return 0, None


def _name(power: int, base: int) -> str:
    if not power:
        return "B"
    if base == 1024:
        return f"{_LETTERS[power]}iB"
    return "kB" if power == 1 else f"{_LETTERS[power]}B"


def written(value: float | None, half_width: float | None = None) -> str:
    """A value with the digits that its interval leaves it; up to three without one."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value and not 1e-9 <= abs(value) < 1e15:
        return f"{value:.3g}"
    return fixed(value, decimals_by_width(value, half_width))


def decimals_by_width(value: float, half_width: float | None = None) -> int:
    """How many decimals are worth writing.

    By the interval's half width: two of its digits from 10 to 35, else one (Particle Data Group,
    Review of Particle Physics), but at least one digit of the value. Zero width says nothing.
    """
    if half_width is not None and math.isfinite(half_width) and half_width > 0:
        first, power = _leading(half_width)
        if first >= 950:  # the next 100
            first, power = 100, power + 1
        count = (1 if 100 <= first <= 354 else 0) - power
        return _bounded(max(count, -_leading(abs(value))[1]) if value else count)
    if value == round(value):
        return 0
    _, power = _leading(abs(value))
    return _bounded(SIGNIFICANT_DIGITS - 1 - power)


def _leading(size: float) -> tuple[int, int]:
    """Its first three digits, and the power of ten of the first."""
    text = scientific(size, 3)  # 1.23e+04
    return int(text[0] + text[2:4]), int(text[5:])


def _bounded(count: int) -> int:
    return max(0, min(_MOST_DECIMALS, count))


def percent_by_width(value: float | None, half_width: float | None = None) -> str:
    """A difference in percent with its sign and the decimals that its interval leaves it.

    One decimal without an interval; more where the difference would look like 0 or 100%.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    if abs(value) >= 1e9:
        return f"{'+' if value > 0 else MINUS}{abs(value):.2e}"
    has_width = half_width is not None and half_width > 0
    return signed_percent(value, min(2, decimals_by_width(0, half_width)) if has_width else 1)


def as_text(value: str | None) -> str:
    """Text with which a spreadsheet does nothing but show it.

    A cell that begins with one of these is a formula to Excel and LibreOffice; the apostrophe
    makes it text (OWASP, "CSV injection", which has the full-width forms too).
    """
    if value and value[0] in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20":
        return f"'{value}"
    return value or ""
