"""``{% explanation_table differences caption %}``: costs of two contenders, ranked."""

from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from fsbench_web.compare.explanations.words import amount, times
from fsbench_web.core.explanation import ALIKE, DIFFERS, Difference

register = template.Library()
_WORDS = {
    DIFFERS: '<span class="badge is-failed">differs</span>',
    ALIKE: '<span class="badge">alike</span>',
}


@register.simple_tag
def explanation_table(differences: Sequence[Difference], caption: str) -> SafeString:
    """A row a cost: the ratio with its interval, what is known of it, and both values."""
    rows = format_html_join(
        "\n",
        '<tr><th scope="row">{}<span class="sub">{}</span></th><td class="num">{}{}{}</td>'
        '<td class="nowrap">{}</td><td class="num">{}</td><td class="num">{}</td></tr>',
        (
            (
                one.cost.label,
                one.cost.definition,
                times(one.ratio),
                _interval(one),
                _floor(one),
                _status(one),
                amount(one.value, one.cost.unit),
                amount(one.other, one.cost.unit),
            )
            for one in differences
        ),
    )
    return format_html(
        '<div class="table-wrap"><table class="table is-dense is-named is-costs">'
        "<caption>{}</caption>"
        '<thead><tr><th scope="col">Cost</th><th scope="col" class="num">Ratio, 95%</th>'
        '<th scope="col">Verdict</th><th scope="col" class="num">Here</th>'
        '<th scope="col" class="num">Of the fastest</th></tr></thead><tbody>{}</tbody></table>'
        "</div>",
        caption,
        rows,
    )


def _interval(one: Difference) -> SafeString | str:
    if one.low is None or one.high is None:
        return ""
    low, high = (times(end).removesuffix(" times") for end in (one.low, one.high))
    return format_html('<span class="sub">{} to {}</span>', low, high)


def _floor(one: Difference) -> SafeString | str:
    """What the ratio is of, where it is not that of the two values beside it."""
    if not one.is_next_to_nothing:
        return ""
    floor = amount(one.cost.floor, one.cost.unit)
    return format_html('<span class="sub">with {} added to both</span>', floor)


def _status(one: Difference) -> SafeString | str:
    if one.status in _WORDS:
        return SafeString(_WORDS[one.status])
    return "not known" if one.low is None else "may be chance"
