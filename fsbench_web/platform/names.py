"""Names that people give, and the addresses made of them. Pure.

Several names have one address ("C" and "C++"), so compare names with both.
"""

import re
import unicodedata

from django.utils.text import slugify

LONGEST_SLUG = 100


def slug_of(name: str) -> str:
    """The address of a name; empty where it has neither a Latin letter nor a digit."""
    return slugify(name)[:LONGEST_SLUG].strip("-")


def is_called(text: str, slug: str, name: str) -> bool:
    """Whether ``text`` means the thing of this address and name, without case and hyphens."""
    return _normalised(text) in (_normalised(slug), _normalised(name))


def _normalised(text: str) -> str:
    return re.sub(r"[\s-]+", "-", unicodedata.normalize("NFKC", text).casefold()).strip("-")
