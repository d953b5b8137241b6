"""Text for pages, escaped. Pure."""

from functools import lru_cache
from html import escape

SHORT = 80
"""Longer texts are sentences with numbers in them, which hardly ever come again."""


def escaped(text: object) -> str:
    """The text as HTML, in content and in attributes, exactly as Django's own ``escape`` has it.

    A page writes some thousand texts, most of them several times (contenders, addresses of runs,
    titles), and Django's looks at every argument for lazy texts first. What is marked as safe is
    escaped here too: this is for texts and not for pieces of pages.
    """
    plain = text if text.__class__ is str else str(text)
    return _cached_escape(plain) if len(plain) <= SHORT else escape(plain)


def attribute(name: str, value: str) -> str:
    """An attribute of an element; "" without a value."""
    return f' {name}="{escaped(value)}"' if value else ""


_cached_escape = lru_cache(maxsize=8192)(escape)
