"""Entity tags in ``If-Match`` and ``If-None-Match``, as RFC 9110 has them (8.8.3, 13.1). Pure."""

import re
from dataclasses import dataclass

_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_NEXT = re.compile(r"[ \t]*(?:,[ \t]*)+|[ \t]*$")
_EMPTY = re.compile(r"[ \t,]*")


@dataclass(frozen=True)
class Tags:
    """What a precondition names: ``any`` for ``*``, else tags with their quotation marks."""

    any: bool = False
    strong: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()

    def has(self, tag: str) -> bool:
        """Whether the answer with this tag is meant, weak ones being good enough: If-None-Match."""
        return self.any or tag.removeprefix("W/") in self.strong | self.weak

    def has_exactly(self, tag: str) -> bool:
        """The same where a weak one, here or there, never is: If-Match."""
        return self.any or tag in self.strong


def parse_tags(header: str) -> Tags:
    """The tags of a header. Raises ValueError for what is no list of them, an empty one too."""
    text = header.strip(" \t")
    if text == "*":
        return Tags(any=True)
    strong: set[str] = set()
    weak: set[str] = set()
    place = _leading(text)
    while place < len(text):
        match = _TAG.match(text, place)
        separator = _NEXT.match(text, match.end()) if match else None
        if match is None or separator is None:
            raise ValueError(header)
        (weak if match[1] else strong).add(match[2])
        place = separator.end()
    if not strong | weak:
        raise ValueError(header)
    return Tags(strong=frozenset(strong), weak=frozenset(weak))


def _leading(text: str) -> int:
    """Where the first tag begins: a list may have empty places (RFC 9110, 5.6.1)."""
    match = _EMPTY.match(text)
    return match.end() if match else 0
