"""``{{ argv|shell_line }}``: a command as a line that can be pasted into a shell; display only."""

import shlex
from collections.abc import Iterable

from django import template

register = template.Library()


@register.filter
def shell_line(argv: Iterable[object]) -> str:
    """The words of a command, quoted for a shell. Nothing is ever started from this text."""
    return shlex.join(str(word) for word in argv)
