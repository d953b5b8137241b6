"""The caution on explanations, and how their table writes ratios and amounts."""

from fsbench_web.core import numbers

CAUTION = (
    "These are associations: what differs together with the speed. A cause may be among them, or "
    "be something that was not counted; only a run in which nothing else is changed can tell."
)


def times(ratio: float) -> str:
    """A ratio without digits that few runs do not give: "2.1 times", "1.15 times"."""
    if ratio < 0.1:
        return f"{ratio:.2g} times"
    return f"{ratio:,.{0 if ratio >= 9.95 else 1 if ratio >= 1.95 else 2}f} times"


def amount(value: float, unit: str) -> str:
    """A value with its unit, without digits that a cost does not have."""
    return numbers.with_unit(float(f"{max(value, 0.0):.3g}"), unit)
