"""How a score's share of what its LUN does by itself is written.

``{{ sure.share|share_of_lun }}``   83% of the LUN   (nothing where there is none)
``{{ share|share_in_words }}``      83% of the LUN's own random read of 4 KiB, 8 outstanding
"""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fsbench_web.core import numbers
from fsbench_web.studies.scores.shares import Share

register = template.Library()


def percent_text(share: Share) -> str:
    """Whole percents from 10 on: a probe is no surer than that."""
    return f"{share.percent:,.0f}%" if share.percent >= 10 else f"{share.percent:.2g}%"


@register.filter
def share_in_words(share: Share | None) -> str:
    """A sentence with everything that is known of it."""
    if share is None:
        return ""
    between = "; taken from the nearest that was measured" if share.is_between else ""
    sure = (
        "its spread is not known"
        if share.spread_percent is None
        else f"± {numbers.number(share.spread_percent, 1)}%"
    )
    blocks = f"the mean of {share.probes} blocks" if share.probes != 1 else "of its block"
    said = f"{percent_text(share)} of the LUN's own {share.of} ({blocks}; {sure}{between})"
    if share.is_not_of_the_disk:
        return f"{said}. More than the LUN does by itself: a cache answered, not the disk."
    return f"{said}."


@register.filter
def share_of_lun(share: Share | None) -> SafeString | str:
    """A line under a number; what it is of is told where the pointer rests, and below the table."""
    if share is None:
        return ""
    kind = "sub is-above" if share.is_not_of_the_disk else "sub"
    more = " – not of the disk" if share.is_not_of_the_disk else ""
    return format_html(
        '<span class="{}" title="{}">{} of the LUN{}</span>',
        *(kind, share_in_words(share), percent_text(share), more),
    )
