"""Numbers of a table as people read them: one unit for all, digits by the interval. Pure.

``2.24 GiB/s ± 0.6%`` instead of ``2344121.83 KB/s``. What is stored, exported and answered by the
API stays as it is; pages have the exact value in the title of each. KB, MB and GB say 1000 or 1024,
so that only those of which it is known are put into larger ones, and these are named so that they
say it: GiB of 1024, GB of 1000 (IEC 80000-13). Operations and scores are counted, not scaled.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fsbench_web.core import numbers

_LETTERS = ("", "K", "M", "G", "T", "P")
_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}
_SHOWN_TIMES = (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0))
_SMALLEST, _LARGEST = 0.01, 1e4
"""Of a table with values far apart the unit is one in which the smallest is not below this, unless
the largest went beyond that."""
SIGNIFICANT_DIGITS = 3
"""Of a value whose interval nobody knows."""
_MOST_DECIMALS = 9


@dataclass(frozen=True)
class Scale:
    """``value / divisor`` is in ``unit``."""

    unit: str
    divisor: float = 1.0

    def amount(self, value: float, half_width: float | None = None) -> str:
        """A value as it is written below ``unit``; both are in the unit of before."""
        width = None if half_width is None else half_width / self.divisor
        return written(value / self.divisor, width)


def scale_of(unit: str, values: Iterable[float], base: int | None = None) -> Scale:
    """The unit in which ``values``, which are in ``unit``, read best; one for all of them.

    ``base`` is what is known of KB, MB and GB: 1000 or 1024; without it they stay as they are.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    ladder = _ladder(unit.strip(), base)
    if not sizes or not ladder:
        return Scale(numbers.unit_name(unit), 1000.0 if unit == "ns" else 1.0)
    low, high = min(sizes), max(sizes)
    fitting = [index for index, (_, divisor) in enumerate(ladder) if high / divisor >= 1]
    place = fitting[-1] if fitting else 0
    while place and low / ladder[place][1] < _SMALLEST and high / ladder[place - 1][1] < _LARGEST:
        place -= 1
    return Scale(*ladder[place])


def with_unit(written: str, unit: str, scale: Scale) -> str:
    """What was written of a value in ``unit`` by ``scale``, with its unit: ``1.20 s``."""
    if unit in {"", "score"}:
        return written
    return f"{written}{'' if unit.startswith('%') else ' '}{scale.unit}"


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
    """What power of which base a unit of bytes is; no base where that is not known."""
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
    """A value with the digits that its interval leaves it; up to three without one.

    Whole numbers keep all their digits: rounding them would need zeros that nobody measured.
    """
    if value is None or not math.isfinite(value):
        return numbers.MISSING
    if value and not 1e-9 <= abs(value) < 1e15:
        return f"{value:.3g}"
    return numbers.fixed(value, decimals(value, half_width))


def decimals(value: float, half_width: float | None = None) -> int:
    """How many decimals are worth writing.

    With the interval's half width these are the Particle Data Group's (Review of Particle Physics,
    Introduction, rounding): two of its digits where they are 10 to 35, else one, and the value as
    far, but for one digit of the value at least: what is measured is never written as zero. A width
    of zero says nothing of digits.
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
    text = numbers.scientific(size, 3)  # 1.23e+04
    return int(text[0] + text[2:4]), int(text[5:])


def _bounded(count: int) -> int:
    return max(0, min(_MOST_DECIMALS, count))


def percent(value: float | None, half_width: float | None = None) -> str:
    """A difference in percent with its sign, the sign for percent left out.

    One decimal where no interval is known; more only where none of the difference would be left, or
    it would be one of 100% and is not.
    """
    if value is None or not math.isfinite(value):
        return numbers.MISSING
    if value == 0:
        return "0"
    if abs(value) >= 1e9:
        text = f"{abs(value):.2e}"
    else:
        count = 1 if half_width is None or half_width <= 0 else min(2, decimals(0, half_width))
        text = numbers.percent_size(abs(value), count)
    return ("+" if value > 0 else "\u2212") + text
