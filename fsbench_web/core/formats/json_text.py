"""JSON with the line of every number, for tool output that is not quite JSON.

fio prints other text before and after its JSON, gives a key twice, and writes nan where it has
no value. Numbers keep their digits as printed.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fsbench_web.core.formats.result import Problem, UnreadableFile

MAX_DEPTH = 64
# Each takes some 300 bytes of memory; a fio job without its bins has some 600.
MAX_VALUES = 500_000
# JSON+ has a histogram of thousands of numbers a job: they stay one text until somebody reads them.
_UNREAD = frozenset({"bins"})
_BIN = re.compile(r'"([0-9]{1,18})"[ \t\r\n]*:[ \t\r\n]*([0-9]{1,18})')
_FLAT = re.compile(r"[ \t\r\n]*\{[^{}]*\}")
_START = re.compile(r'\{\s*"')
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"([^"\\\n]*(?:\\.[^"\\\n]*)*)"')
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null|[+-]?(?:nan|NaN|inf|Infinity)\b")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as printed, and its line, from 1."""

    text: str
    line: int


class JsonObject(list[tuple[str, "Json"]]):
    """The pairs of an object in order; a key may be there more than once."""

    line: int = 0

    def get(self, key: str) -> "Json":
        return next((value for name, value in self if name == key), None)

    def object(self, key: str) -> "JsonObject":
        """The object under a key; an empty one where there is none."""
        value = self.get(key)
        return value if isinstance(value, JsonObject) else JsonObject()

    def objects(self, key: str) -> list["JsonObject"]:
        value = self.get(key)
        if not isinstance(value, JsonList):
            return []
        return [entry for entry in value if isinstance(entry, JsonObject)]

    def number(self, key: str) -> Number | None:
        value = self.get(key)
        return value if isinstance(value, Number) else None

    def amount(self, key: str) -> float | None:
        number = self.number(key)
        return float(number.text) if number is not None else None

    def text(self, key: str) -> str:
        """The text under a key; empty where there is none."""
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def is_zero(self, key: str) -> bool:
        return self.amount(key) == 0


class JsonList(list["Json"]):
    """The items of an array."""


@dataclass(frozen=True, slots=True)
class Bins:
    """An object of whole numbers under whole numbers, as text; ``line`` is where it begins."""

    text: str
    line: int

    def pairs(self) -> list[tuple[int, int]]:
        """(name, value) of each."""
        return [(int(name), int(value)) for name, value in _BIN.findall(self.text)]


Json = Bins | JsonObject | JsonList | Number | str | bool | None


def documents(lines: Sequence[str], start: re.Pattern[str] = _START) -> Iterator[JsonObject]:
    """The objects that begin where ``start`` is found, in order. Raises UnreadableFile."""
    reader = _Reader(lines)
    position = 0
    while (found := start.search(reader.text, position)) is not None:
        root, position = reader.object_at(found.start())
        yield root


class _Reader:
    """Reads values that stand in a text; ``opened`` is the line where the object begins."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.text = "\n".join(lines)
        self.count = 0
        self.opened = 0
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def object_at(self, position: int) -> tuple[JsonObject, int]:
        """The object that starts at ``position``, and where it ends."""
        self.opened = self._line_of(position)
        value, end = self._value(position, 0)
        if not isinstance(value, JsonObject):
            raise self._wrong(position, "an object")
        return value, end

    def _line_of(self, position: int) -> int:
        return bisect_right(self._starts, position)

    def _wrong(self, position: int, expected: str) -> UnreadableFile:
        position = min(position, len(self.text))
        line = self._line_of(position)
        rest = self.text[position : position + 30].split("\n")[0]
        if position == len(self.text):
            message = (
                f"The file ends inside of the JSON that starts in line {self.opened}: it is cut "
                f"off. Expected {expected}."
            )
            return UnreadableFile([Problem(min(line, len(self._starts) - 1), None, message)])
        message = (
            f'Found "{rest}", expected {expected}, in the JSON that starts in line {self.opened}.'
        )
        return UnreadableFile([Problem(line, position - self._starts[line - 1] + 1, message)])

    def _skip(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def _value(self, position: int, depth: int) -> tuple[Json, int]:
        position = self._skip(position)
        self.count += 1
        if self.count > MAX_VALUES:
            raise self._wrong(position, f"no more than {MAX_VALUES:,} values: split the file")
        first = self.text[position : position + 1]
        if first == '"':
            return self._string(position)
        if first in ("{", "["):
            if depth >= MAX_DEPTH:
                raise self._wrong(position, f"no more than {MAX_DEPTH} levels")
            return self._members(position, depth)
        if (match := _NUMBER.match(self.text, position)) is not None:
            return Number(match[0], self._line_of(position)), match.end()
        if (match := _WORD.match(self.text, position)) is not None:
            return {"true": True, "false": False}.get(match[0]), match.end()
        raise self._wrong(position, "a value")

    def _members(self, position: int, depth: int) -> tuple[JsonObject | JsonList, int]:
        found = JsonObject() if self.text[position] == "{" else JsonList()
        closing = "]"
        if isinstance(found, JsonObject):
            closing, found.line = "}", self._line_of(position)
        position = self._skip(position + 1)
        if self.text.startswith(closing, position):
            return found, position + 1
        while True:
            if isinstance(found, JsonObject):
                pair, position = self._pair(position, depth)
                found.append(pair)
            else:
                value, position = self._value(position, depth + 1)
                found.append(value)
            position = self._skip(position)
            sign = self.text[position : position + 1]
            if sign == closing:
                return found, position + 1
            if sign != ",":
                raise self._wrong(position, f'"," or "{closing}"')
            position = self._skip(position + 1)

    def _pair(self, position: int, depth: int) -> tuple[tuple[str, Json], int]:
        if not self.text.startswith('"', position):
            raise self._wrong(position, "a name in quotes")
        key, position = self._string(position)
        position = self._skip(position)
        if not self.text.startswith(":", position):
            raise self._wrong(position, '":"')
        unread = _FLAT.match(self.text, position + 1) if key in _UNREAD else None
        if unread is not None:
            return (key, Bins(unread[0], self._line_of(position))), unread.end()
        value, position = self._value(position + 1, depth + 1)
        return (key, value), position

    def _string(self, position: int) -> tuple[str, int]:
        match = _STRING.match(self.text, position)
        if match is None:
            rest = self.text.find("\n", position)
            raise self._wrong(len(self.text) if rest < 0 else rest, "a closing quote")
        return _ESCAPE.sub(_unescaped, match[1]), match.end()


def _unescaped(match: re.Match[str]) -> str:
    sign = match[1]
    if len(sign) > 1:
        code = int(sign[1:], 16)
        # Half of a surrogate pair is no character, and a database refuses NUL.
        return chr(code) if code and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _ESCAPES.get(sign, sign)
