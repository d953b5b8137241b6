"""Whether a page offers something to its reader.

``{% offered "run" as submitting %}``
    ``submitting.is_allowed``, else ``submitting.why`` in words
``{% offered "run" study as submitting %}``  the same of this study

Who is not signed in is offered what an account may: the way there leads over the sign-in page.
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
