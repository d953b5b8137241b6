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
                difference.cost.label,
                difference.cost.definition,
                times(difference.ratio),
                _interval(difference),
                _floor(difference),
                _status(difference),
                amount(difference.value, difference.cost.unit),
                amount(difference.other, difference.cost.unit),
            )
            for difference in differences
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


def _interval(difference: Difference) -> SafeString | str:
    if difference.low is None or difference.high is None:
        return ""
    low, high = (times(end).removesuffix(" times") for end in (difference.low, difference.high))
    return format_html('<span class="sub">{} to {}</span>', low, high)


def _floor(difference: Difference) -> SafeString | str:
    """What the ratio is of, where it is not that of the two values beside it."""
    if not difference.is_next_to_nothing:
        return ""
    floor = amount(difference.cost.floor, difference.cost.unit)
    return format_html('<span class="sub">with {} added to both</span>', floor)


def _status(difference: Difference) -> SafeString | str:
    if difference.status in _WORDS:
        return SafeString(_WORDS[difference.status])
    return "not known" if difference.low is None else "may be chance"
