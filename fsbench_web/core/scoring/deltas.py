"""Deltas: how far each contender is behind the best, as in Appendix A of Unisys 2005. Pure.

``delta1 = (best - x) / best`` and ``delta2 = (x - best) / x``, in percent. For times both use
reciprocals, so with b = best: ``delta1 = (x - b) / x`` and ``delta2 = (b - x) / b``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

ROUNDING_PERCENT = Decimal("0.01")
"""What two places of a printed delta may differ by before the print counts as wrong."""
SAME = 1e-12
"""Scores that differ by less of themselves are the same: means may differ in the last bit."""


Value = float | Fraction
"""A score: as it was printed, or a fraction where it was converted (core.units)."""


class Delta(NamedTuple):
    """How one value stands to the best. A delta is None where it would divide by zero."""

    best: bool
    delta1_percent: float | None
    delta2_percent: float | None


def delta_rows(values: Sequence[Value], lower_is_better: bool) -> list[Delta]:
    """The delta of each value; ties are best. Exact fractions. Raises ValueError for negatives."""
    exact = [_exact(value) for value in values]
    if not exact:
        return []
    # The order of floats is that of the decimals that people see.
    best = min(values) if lower_is_better else max(values)
    of_best = exact[values.index(best)]
    return [
        _delta(of_best, of_best, lower_is_better, is_best=True)
        if is_same(value, best)
        else _delta(x, of_best, lower_is_better, is_best=False)
        for x, value in zip(exact, values, strict=True)
    ]


def is_same(first: Value, second: Value) -> bool:
    """Whether two scores differ by no more than binary rounding can have done (``SAME``)."""
    if first == second:
        return True
    a, b = float(first), float(second)
    return abs(a - b) <= SAME * max(abs(a), abs(b))


def change_percent(value: Value, baseline: Value, lower_is_better: bool) -> float | None:
    """How much faster ``value`` is than ``baseline``, in percent; None for a zero."""
    base = _exact(baseline)
    x = base if is_same(value, baseline) else _exact(value)
    # Of times: (1/x - 1/b) / (1/b) = (b - x) / x.
    return _percent(base, x, x) if lower_is_better else _percent(x, base, base)


def worst_first(values: Sequence[Value], names: Sequence[str], lower_is_better: bool) -> list[int]:
    """The places of ``values`` from the worst to the best; equal values by name."""
    sign = -1 if lower_is_better else 1
    return sorted(range(len(values)), key=lambda place: (sign * values[place], names[place]))


def published_differs(printed: Decimal, recomputed: float) -> bool:
    """Whether a printed delta does not follow from its table: off by more than 0.01."""
    return abs(_two_places(printed) - _two_places(Decimal(repr(recomputed)))) > ROUNDING_PERCENT


def _exact(value: Value) -> Fraction:
    if isinstance(value, Fraction) and value >= 0:
        return value
    number = Decimal(repr(float(value)))
    if not number.is_finite() or number < 0:
        raise ValueError(f"a score of {value} cannot be compared")
    return Fraction(number)


def _delta(x: Fraction, best: Fraction, lower_is_better: bool, is_best: bool) -> Delta:
    behind_best, behind_x = (x, best) if lower_is_better else (best, x)
    larger, smaller = (x, best) if lower_is_better else (best, x)
    return Delta(
        best=is_best,
        delta1_percent=_percent(larger, smaller, behind_best),
        delta2_percent=_percent(smaller, larger, behind_x),
    )


def _percent(first: Fraction, second: Fraction, whole: Fraction) -> float | None:
    """``first`` less ``second``, in percent of ``whole``; None for a whole of zero.

    Of integers: a Fraction of each step is reduced, which takes five times as long.
    """
    (a, b), (c, d), (e, f) = (part.as_integer_ratio() for part in (first, second, whole))
    try:
        return 100 * (a * d - c * b) * f / (b * d * e)
    except (ZeroDivisionError, OverflowError):
        return None


def _two_places(value: Decimal) -> Decimal:
    with localcontext() as context:
        # The widest float has 309 digits before the point; quantize refuses what does not fit.
        context.prec = 400
        return value.quantize(ROUNDING_PERCENT, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Published:
    """What a paper printed with a score; ``differs``: fields that its own table contradicts."""

    best: bool
    delta1_percent: Decimal | None
    delta2_percent: Decimal | None
    differs: tuple[str, ...] = ()
    expected_best: bool | None = None
    expected1: float | None = None
    expected2: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON: deltas as numbers, the printed digits once more as text."""
        return {
            "best": self.best,
            "delta1_percent": None if self.delta1_percent is None else float(self.delta1_percent),
            "delta2_percent": None if self.delta2_percent is None else float(self.delta2_percent),
            "differs": list(self.differs),
            "printed": [
                None if delta is None else str(delta)
                for delta in (self.delta1_percent, self.delta2_percent)
            ],
            "expected": [self.expected_best, self.expected1, self.expected2],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Published":
        first, second = (None if text is None else Decimal(text) for text in data["printed"])
        return cls(data["best"], first, second, tuple(data["differs"]), *data["expected"])
