"""How tables of costs write ratios and amounts."""

from django import template

from fsbench_web.core import numbers
from fsbench_web.core.explanation import Difference

register = template.Library()


@register.filter
def times(ratio: float) -> str:
    """A ratio without digits that few runs do not give: "2.1 times", "1.15 times"."""
    if ratio < 0.1:
        return f"{ratio:.2g} times"
    return f"{ratio:,.{0 if ratio >= 9.95 else 1 if ratio >= 1.95 else 2}f} times"


@register.filter
def amount(value: float, unit: str) -> str:
    """A value with its unit, without digits that a cost does not have."""
    return numbers.with_unit(float(f"{max(value, 0.0):.3g}"), unit)


@register.filter
def interval(difference: Difference) -> str:
    """``1.2 to 1.4``; "" where it is not known."""
    if difference.low is None or difference.high is None:
        return ""
    low, high = (times(end).removesuffix(" times") for end in (difference.low, difference.high))
    return f"{low} to {high}"
