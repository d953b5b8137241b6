"""Text that a database can hold: PostgreSQL refuses NUL, and UTF-8 has no lone surrogates."""

from typing import Any

UNSTORABLE = "contains a NUL or half a character, which no name in fsbench has"


def is_storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def unstorable(value: Any) -> str | None:
    """Where in a parsed JSON value such text is ("" at its top), or None where it is not.

    Iterative: the nesting is the caller's to choose.
    """
    waiting = [("", value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, str) and not is_storable(item):
            return place
        if isinstance(item, dict):
            for key, inner in item.items():
                if not is_storable(str(key)):
                    return place
                waiting.append((f"{place}.{key}".lstrip("."), inner))
        elif isinstance(item, list):
            waiting += [(f"{place}.{n}".lstrip("."), inner) for n, inner in enumerate(item)]
    return None
