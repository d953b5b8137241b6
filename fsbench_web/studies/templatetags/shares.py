"""How a score's share of its LUN's own speed is written.

``{{ sure.share|share_of_lun }}``   83% of the LUN   (nothing where there is none)
"""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fsbench_web.core.scoring.shares import Share

register = template.Library()


@register.filter
def share_of_lun(share: Share | None) -> SafeString | str:
    """A line under a number; its tooltip says what it is of."""
    if share is None:
        return ""
    kind = "sub is-above" if share.is_not_of_the_disk else "sub"
    more = " – not of the disk" if share.is_not_of_the_disk else ""
    return format_html(
        '<span class="{}" title="{}">{}{}</span>', kind, share.sentence(), share.short, more
    )
