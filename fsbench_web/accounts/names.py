"""What a new account may be called, so that nobody can be taken for somebody else.

The name stands in the audit log, beside studies and above permalinks. New ones are of ASCII, as
those made of a sign-in service's always were: with the letters of all scripts, telling look-alikes
apart takes Unicode's tables of them (UTS #39) and still lets whole words of one script pass for
those of another. Of ASCII, UTS #39 has four confusions. Accounts that are there stay as they are.
"""

import re
import unicodedata

from django.contrib.auth.models import User

from fsbench_web.platform import plain_text

# Names that the audit log uses for what no person did.
RESERVED = frozenset({"fsbench"})
_OTHER = re.compile(r"[^A-Za-z0-9@.+_-]")
_SAME = str.maketrans({"0": "o", "1": "l", "m": "rn"})


def problem(name: str) -> str:
    """Why no new account can have this name: a sentence; empty where one can.

    That very name being taken is for whoever stores it to find, once more, at that moment.
    """
    name = unicodedata.normalize("NFKC", name)
    if found := _OTHER.search(name):
        return (
            f"The name has {plain_text.named(found[0])}. It consists of the letters a to z, "
            "digits and @ . + - _ alone, because letters of other scripts look the same."
        )
    if name.lower() in RESERVED:
        return "The audit log uses this name for what no person did."
    other = _looks_like(name)
    if other is not None:
        return (
            f'There is an account "{other}" already, which "{name}" would be taken for: choose a '
            "name that differs in more than capitals, or 0 and O, 1, l and I, m and rn."
        )
    return ""


def _looks_like(name: str) -> str | None:
    """Another account's name that people would read as this one."""
    looks = _looks(name)
    for other in User.objects.order_by("pk").values_list("username", flat=True):
        if other != name and not looks.isdisjoint(_looks(other)):
            return str(other)
    return None


def _looks(name: str) -> set[str]:
    """The name as read without minding capitals, and as read where a capital I is an l."""
    return {one.casefold().translate(_SAME) for one in (name, name.replace("I", "l"))}
