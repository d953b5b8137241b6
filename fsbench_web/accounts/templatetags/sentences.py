"""``{{ problem|linked }}``: a sentence with addresses of the guide as links."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
_GUIDE = re.compile(r"/guide/[a-z-]+/(?:#[a-z0-9-]+)?")


@register.filter
def linked(sentence: object) -> SafeString:
    """The sentence, escaped, with each address of the guide as a link."""
    # What is escaped has none of these characters more or less.
    text = _GUIDE.sub(r'<a href="\g<0>">\g<0></a>', escape(sentence))
    return mark_safe(text)  # noqa: S308 - of what was escaped
