"""What a body may hold: text that a database can (PostgreSQL refuses NUL, and UTF-8 has no lone
surrogates), and so many levels.
"""

from typing import Any

UNSTORABLE = "contains a NUL or half a character, which no name in fsbench has"

MOST_LEVELS = 64
TOO_DEEP = f"The body is nested more than {MOST_LEVELS} levels deep."


def is_storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def unstorable(value: Any) -> str | None:
    """Where in a parsed JSON value such text is ("" at its top), or None where it is not.

    Iterative: the nesting is the caller's to choose.
    """
    waiting = [("", value)]
    while waiting:
        place, node = waiting.pop()
        if isinstance(node, str) and not is_storable(node):
            return place
        if isinstance(node, dict):
            for key, inner in node.items():
                if not is_storable(str(key)):
                    return place
                waiting.append((f"{place}.{key}".lstrip("."), inner))
        elif isinstance(node, list):
            waiting += [(f"{place}.{n}".lstrip("."), inner) for n, inner in enumerate(node)]
    return None


def is_too_deep(value: Any) -> bool:
    """Whether a parsed JSON value has more than MOST_LEVELS.

    What reads JSON stops at a depth of its own, from Python 3.12 on far beyond what pydantic takes.
    """
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [
            inner
            for node in level
            if isinstance(node, dict | list)
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
    return bool(level)
