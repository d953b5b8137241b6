"""Whether a page offers something to its reader: ``{% offered "run" study as submitting %}``.

The tag offers strangers what an account may: the sign-in page comes first.
"""

from typing import Any

from django import template
from django.contrib.auth.models import AnonymousUser

from fsbench_web.accounts import rights

register = template.Library()


@register.simple_tag(takes_context=True)
def offered(context: dict[str, Any], action: str, thing: object = None) -> rights.Decision:
    """The decision of accounts.rights; an error page knows nobody, and offers as to strangers."""
    user = context.get("user") or AnonymousUser()
    if not user.is_authenticated:
        return rights.ALLOWED
    return rights.decide(user, rights.Action(action), thing)
