"""JSON with the line of every number, for tool output that is not quite JSON.

fio prints other text before and after its JSON, gives a key twice, and writes nan where it has
no value. Numbers keep their digits as printed.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

from fsbench_web.core.formats.result import Problem

MAX_DEPTH = 64
# Each takes some 300 bytes of memory; a fio job without its bins has some 600.
MAX_VALUES = 500_000
# JSON+ has a histogram of thousands of numbers a job: they stay one text until somebody reads them.
_UNREAD = frozenset({"bins"})
_BIN = re.compile(r'"([0-9]{1,18})"[ \t\r\n]*:[ \t\r\n]*([0-9]{1,18})')
_FLAT = re.compile(r"[ \t\r\n]*\{[^{}]*\}")
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"([^"\\\n]*(?:\\.[^"\\\n]*)*)"')
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null|[+-]?(?:nan|NaN|inf|Infinity)\b")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as printed, and the line it stands in, from 1."""

    text: str
    line: int


class JsonObject(list[tuple[str, "Json"]]):
    """The pairs of an object in order; a key may be there more than once."""

    line: int = 0

    def get(self, key: str) -> "Json":
        """The value of the first such key, or None."""
        return next((value for name, value in self if name == key), None)

    def object(self, key: str) -> "JsonObject":
        """The object under a key; an empty one where there is none."""
        value = self.get(key)
        return value if isinstance(value, JsonObject) else JsonObject()

    def objects(self, key: str) -> list["JsonObject"]:
        """The objects in the list under a key."""
        value = self.get(key)
        if not isinstance(value, JsonList):
            return []
        return [entry for entry in value if isinstance(entry, JsonObject)]

    def number(self, key: str) -> Number | None:
        """The number under a key."""
        value = self.get(key)
        return value if isinstance(value, Number) else None

    def text(self, key: str) -> str:
        """The text under a key; empty where there is none."""
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def is_zero(self, key: str) -> bool:
        """Whether the number under a key is there and is 0."""
        number = self.number(key)
        return number is not None and float(number.text) == 0


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


class JsonError(ValueError):
    """The text is not JSON; ``problem`` says where and what was expected."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class JsonText:
    """A text in which JSON values stand."""

    def __init__(self, lines: list[str]) -> None:
        self.text = "\n".join(lines)
        self.count = 0
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def line_of(self, position: int) -> int:
        """The line of a position, from 1."""
        return bisect_right(self._starts, position)

    def read(self, position: int) -> tuple[JsonObject, int]:
        """The object that starts at ``position``, and where it ends. Raises JsonError."""
        return _Reader(self).object_at(position)

    def error(self, position: int, expected: str, opened: int) -> JsonError:
        """What is wrong at a position inside of the object that was opened in a line."""
        position = min(position, len(self.text))
        line = self.line_of(position)
        rest = self.text[position : position + 30].split("\n")[0]
        if position == len(self.text):
            message = (
                f"The file ends inside of the JSON that starts in line {opened}: it is cut off. "
                f"Expected {expected}."
            )
            return JsonError(Problem(min(line, len(self._starts) - 1), None, message))
        message = f'Found "{rest}", expected {expected}, in the JSON that starts in line {opened}.'
        return JsonError(Problem(line, position - self._starts[line - 1] + 1, message))


class _Reader:
    def __init__(self, source: JsonText) -> None:
        self.source = source
        self.text = source.text
        self.opened = 0

    def object_at(self, position: int) -> tuple[JsonObject, int]:
        self.opened = self.source.line_of(position)
        value, end = self._value(position, 0)
        if not isinstance(value, JsonObject):
            raise self._wrong(position, "an object")
        return value, end

    def _wrong(self, position: int, expected: str) -> JsonError:
        return self.source.error(position, expected, self.opened)

    def _skip(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def _value(self, position: int, depth: int) -> tuple[Json, int]:
        position = self._skip(position)
        self.source.count += 1
        if self.source.count > MAX_VALUES:
            raise self._wrong(position, f"no more than {MAX_VALUES:,} values: split the file")
        first = self.text[position : position + 1]
        if first == '"':
            return self._string(position)
        if first in ("{", "["):
            if depth >= MAX_DEPTH:
                raise self._wrong(position, f"no more than {MAX_DEPTH} levels")
            if first == "{":
                return self._object(position, depth)
            return self._list(position, depth)
        if (match := _NUMBER.match(self.text, position)) is not None:
            return Number(match[0], self.source.line_of(position)), match.end()
        if (match := _WORD.match(self.text, position)) is not None:
            return {"true": True, "false": False}.get(match[0]), match.end()
        raise self._wrong(position, "a value")

    def _object(self, position: int, depth: int) -> tuple[JsonObject, int]:
        json_object = JsonObject()
        json_object.line = self.source.line_of(position)
        position = self._skip(position + 1)
        if self.text[position : position + 1] == "}":
            return json_object, position + 1
        while True:
            if self.text[position : position + 1] != '"':
                raise self._wrong(position, "a name in quotes")
            key, position = self._string(position)
            position = self._skip(position)
            if self.text[position : position + 1] != ":":
                raise self._wrong(position, '":"')
            unread = _FLAT.match(self.text, position + 1) if key in _UNREAD else None
            if unread is not None:
                json_object.append((key, Bins(unread[0], self.source.line_of(position))))
                position = unread.end()
            else:
                value, position = self._value(position + 1, depth + 1)
                json_object.append((key, value))
            position = self._skip(position)
            sign = self.text[position : position + 1]
            if sign == "}":
                return json_object, position + 1
            if sign != ",":
                raise self._wrong(position, '"," or "}"')
            position = self._skip(position + 1)

    def _list(self, position: int, depth: int) -> tuple[JsonList, int]:
        json_list = JsonList()
        position = self._skip(position + 1)
        if self.text[position : position + 1] == "]":
            return json_list, position + 1
        while True:
            value, position = self._value(position, depth + 1)
            json_list.append(value)
            position = self._skip(position)
            sign = self.text[position : position + 1]
            if sign == "]":
                return json_list, position + 1
            if sign != ",":
                raise self._wrong(position, '"," or "]"')
            position += 1

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
