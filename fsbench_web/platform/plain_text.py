"""Refuses characters that nobody sees and that change what people see.

Examples are escapes, line breaks in names, and U+202E, which shows a name backwards.
"""

import unicodedata

from django.core.exceptions import ValidationError

# Controls (C0, DEL, C1), formats (directions, zero widths, tags), half characters, and Unicode's
# own separators of lines and paragraphs.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Letters and marks that are drawn as nothing or as room, although their category does not say so:
# Unicode's Default_Ignorable_Code_Point (fillers of Hangul, a joiner, inherent vowels of Khmer,
# separators of Mongolian; not its variation selectors, which pictures have) and the empty Braille.
_BLANK = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
# Persian is not written without the one, nor many a picture without the other.
_JOINERS = {"\u200c", "\u200d"}
_NAMES = {"\0": "NUL", "\t": "a tab", "\n": "a line break", "\r": "a line break", "\x1b": "escape"}
_SHOWN_BEFORE = 20


def problem(text: str, *, is_multiline: bool = False) -> str:
    """A sentence that names the first invisible character; empty where there is none."""
    allowed = {"\n", "\r", "\t"} if is_multiline else set()
    for place, sign in enumerate(text):
        if _is_unseen(text, place) and sign not in allowed:
            before = text[max(place - _SHOWN_BEFORE, 0) : place]
            where = f"behind “{before}”" if before else "at its beginning"
            return (
                f"It has a sign that cannot be seen, {character_name(sign)}, {where}: delete it, "
                "or type the text again."
            )
    return ""


def visible(text: str) -> str:
    """The text without such signs: for names of files, which nobody here gave or can correct."""
    while problem(text):
        # Again: a joiner that stood beside a sign that is gone may join nothing now.
        text = "".join(sign for place, sign in enumerate(text) if not _is_unseen(text, place))
    return text


def _is_unseen(text: str, place: int) -> bool:
    sign = text[place]
    is_unseen = sign in _BLANK or unicodedata.category(sign) in _UNSEEN
    return is_unseen and not _joins(text, place)


def _joins(text: str, place: int) -> bool:
    """Whether a joiner stands between two characters of a script that needs it."""
    if text[place] not in _JOINERS or not 0 < place < len(text) - 1:
        return False
    neighbours = text[place - 1] + text[place + 1]
    return not (
        neighbours.isascii() or any(sign in _JOINERS or sign.isspace() for sign in neighbours)
    )


def character_name(sign: str) -> str:
    """``U+202E RIGHT-TO-LEFT OVERRIDE``: what somebody can look for."""
    name = _NAMES.get(sign) or unicodedata.name(sign, "")
    name = name or {"Cc": "a control character", "Cs": "half a character"}.get(
        unicodedata.category(sign), ""
    )
    return f"U+{ord(sign):04X} {name}".strip()


def one_line(text: str) -> None:
    """Raises ValidationError: a name or title has no line break and no sign that is not seen."""
    if reason := problem(text):
        raise ValidationError(reason, code="unseen")


def lines(text: str) -> None:
    """Raises ValidationError: a note may have line breaks and tabs."""
    if reason := problem(text, is_multiline=True):
        raise ValidationError(reason, code="unseen")
