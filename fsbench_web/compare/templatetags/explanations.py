"""How tables of costs write ratios and amounts."""

from django import template

from fsbench_web.compare.explanations.words import amount, times
from fsbench_web.core.explanation import Difference

register = template.Library()
register.filter("times", times)
register.filter("amount", amount)


@register.filter
def interval(difference: Difference) -> str:
    """``1.2 to 1.4``; "" where it is not known."""
    if difference.low is None or difference.high is None:
        return ""
    low, high = (times(end).removesuffix(" times") for end in (difference.low, difference.high))
    return f"{low} to {high}"
