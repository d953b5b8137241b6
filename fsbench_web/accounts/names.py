"""What a new account or team may be called, so that none can be taken for another.

The audit log, studies and permalinks show the name. New ones are of ASCII, as
those made of a sign-in service's always were: with the letters of all scripts, telling look-alikes
apart takes Unicode's tables of them (UTS #39) and still lets whole words of one script pass for
those of another. Of ASCII, UTS #39 has four confusions. Accounts that are there stay as they are.

Teams are called in any language, and have rights too (LUNs, studies). What is reported apart of
them are capitals, spaces, forms of one letter (NFKC), and the letters of Cyrillic and Greek that
are drawn as Latin ones.
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
    """Why no new account can have this name: a sentence; empty where one can.

    That very name being taken is for the one that stores it to find, once more, at that moment.
    """
    name = unicodedata.normalize("NFKC", name)
    if match := _OTHER.search(name):
        return (
            f"The name has {plain_text.character_name(match[0])}. It consists of the letters a to "
            "z, digits and @ . + - _ alone, because letters of other scripts look the same."
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
