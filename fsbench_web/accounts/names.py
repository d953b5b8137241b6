"""Checks that no new account or team can be taken for another.

New accounts have ASCII names: telling look-alikes of all scripts apart takes the tables of UTS #39,
and whole words of one script would still pass. Teams have names in any language. Refused are names
that differ only in capitals, spaces, NFKC forms, or Cyrillic and Greek letters drawn as Latin ones.
"""

import re
import unicodedata

from django.contrib.auth.models import User

from fsbench_web.accounts.models import Team
from fsbench_web.platform import plain_text

# Names that the audit log uses for what no person did.
RESERVED = frozenset({"fsbench"})
_OTHER = re.compile(r"[^A-Za-z0-9@.+_-]")
_SAME = str.maketrans({"0": "o", "1": "l", "m": "rn"})
_DRAWN_AS_LATIN = str.maketrans(
    "АВЕКМНОРСТУХІЈЅԀԚԜаеорсухіјѕһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορι",
    "ABEKMHOPCTYXIJSDQWaeopcyxijshdqwABEZHIKMNOPTYXavopi",
)


def problem(name: str) -> str:
    """Why no new account can have this name; empty where one can. Ignores an equal name."""
    name = unicodedata.normalize("NFKC", name)
    if match := _OTHER.search(name):
        return (
            f"The name has {plain_text.character_name(match[0])}. It consists of the letters a to "
            "z, digits and @ . + - _ alone, because letters of other scripts look the same."
        )
    if name.lower() in RESERVED:
        return "The audit log uses this name for automatic actions."
    other = _looks_like(name)
    if other is not None:
        return (
            f'There is an account "{other}" already, and "{name}" looks like it. Choose a name '
            "that differs in more than capitals, or 0 and O, 1, l and I, m and rn."
        )
    return ""


def _looks_like(name: str) -> str | None:
    """Another account's name that people would read as this one."""
    spellings = _spellings(name)
    for other in User.objects.order_by("pk").values_list("username", flat=True):
        if other != name and not spellings.isdisjoint(_spellings(other)):
            return str(other)
    return None


def team_problem(name: str, team: Team | None = None) -> str:
    """Why no team, or not ``team``, can have this name: a sentence; empty where one can."""
    spellings = _looks_in_any_script(name)
    for key, other in Team.objects.order_by("pk").values_list("pk", "name"):
        is_itself = team is not None and key == team.pk
        if (
            not is_itself
            and other != name
            and not spellings.isdisjoint(_looks_in_any_script(other))
        ):
            return (
                f'There is a team "{other}" already, which "{name}" would be taken for: choose a '
                "name that differs in more than capitals, spaces or letters that look the same."
            )
    return ""


def _looks_in_any_script(name: str) -> set[str]:
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    return _spellings(plain.translate(_DRAWN_AS_LATIN))


def _spellings(name: str) -> set[str]:
    """The name as read without minding capitals, and as read where a capital I is an l."""
    return {spelling.casefold().translate(_SAME) for spelling in (name, name.replace("I", "l"))}
