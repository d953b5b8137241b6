"""Tables of measurements: CSV or TSV, one number a row, with a header row.

Columns: test, record_size_kb, file_size_kb, value, unit; and, where the file itself says what its
numbers belong to, filesystem, configuration, hardware, repeat. Fields are separated by comma,
semicolon or tab. Where it is no comma, numbers may have a decimal comma. A row without a value is
a cell that was not measured.
"""

import csv
import re
from dataclasses import dataclass, field

from fsbench_web.formats.iozone_header import TESTS
from fsbench_web.formats.result import (
    MAX_VALUES,
    ParsedResult,
    ParsedValue,
    Problem,
    UnreadableFile,
    too_many_values,
)
from fsbench_web.formats.text import ENOUGH_PROBLEMS, capped, shown

FORMAT = "table"
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_NAMES = {
    "test": "test",
    "record_size_kb": "record_size_kb",
    "record_kb": "record_size_kb",
    "record_size": "record_size_kb",
    "reclen": "record_size_kb",
    "file_size_kb": "file_size_kb",
    "file_kb": "file_size_kb",
    "file_size": "file_size_kb",
    "size": "file_size_kb",
    "kb": "file_size_kb",
    "value": "value",
    "score": "value",
    "unit": "unit",
    "filesystem": "filesystem",
    "configuration": "configuration",
    "hardware": "hardware",
    "repeat": "repeat",
}
_REQUIRED = ("test", "value", "unit")
_UNITS = {
    "kb/s": "KB/s",
    "kb/sec": "KB/s",
    "kbytes/s": "KB/s",
    "kbytes/sec": "KB/s",
    "kib/s": "KB/s",
    "ops/sec": "ops/s",
    "us": "µs",
    "μs": "µs",
}
_TEST = re.compile("[a-z0-9][a-z0-9_.-]{0,59}")
# "Random Write", "random-write" and "Re-read" are tests that have a name here already.
_KNOWN_TESTS = {test.replace("_", ""): test for test in TESTS}
_WHOLE = re.compile("[0-9]{1,12}")
_POINT = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_COMMA = re.compile(r"[+-]?[0-9]+(,[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_NO_NUMBER = {"nan", "inf", "infinity", "-inf", "+inf", "-infinity"}
# Largest numbers the database keeps for a size (PositiveIntegerField, PositiveBigIntegerField).
_MAX_RECORD_KB = 2**31 - 1
# Runs are numbered on from the highest repeat, which must leave room for more.
_MAX_REPEAT = 1_000_000
# No disk is that fast; up to here every sum and mean is a finite number.
_MAX_VALUE = 1e30
_LARGEST = {"record_size_kb": _MAX_RECORD_KB, "file_size_kb": 10**12, "repeat": _MAX_REPEAT}


def recognises(lines: list[str]) -> bool:
    """Whether the first line that says something is the header of a table."""
    header = _header_of(lines)
    return header is not None and {"test", "value"} <= set(header.names)


@dataclass
class _Header:
    index: int
    delimiter: str
    names: list[str]
    """Our names; empty for a column that is not ours."""
    words: list[str]


def _header_of(lines: list[str]) -> _Header | None:
    for index, line in enumerate(lines):
        if not line.strip() or line.startswith("#"):
            continue
        delimiter = max(_DELIMITERS, key=line.count)
        if line.count(delimiter) == 0:
            return None
        try:
            words = [word.strip() for word in _fields(line, delimiter)]
        except csv.Error:
            return None
        names = [_NAMES.get(word.lower().replace(" ", "_"), "") for word in words]
        return _Header(index, delimiter, names, words)
    return None


def _fields(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, strict=True), [])


@dataclass
class _Reading:
    header: _Header
    result: ParsedResult
    problems: list[Problem] = field(default_factory=list)
    seen: dict[tuple[object, ...], int] = field(default_factory=dict)
    decimal: str = ""
    """The decimal sign of the file, once one has been seen."""


def parse(lines: list[str]) -> ParsedResult:
    """All numbers of the table. Raises UnreadableFile with the place of everything wrong."""
    header = _header_of(lines)
    assert header is not None
    _check_header(header)
    reading = _Reading(header, ParsedResult(FORMAT, "table"))
    for name, word in zip(header.names, header.words, strict=True):
        if not name:
            message = f"Column {shown(word)} is not one that fsbench keeps."
            reading.result.warnings.append(Problem(header.index + 1, None, message))
    for number, line in enumerate(lines[header.index + 1 :], start=header.index + 2):
        if line.strip() and not line.startswith("#"):
            _row(reading, line, number)
        if len(reading.problems) >= ENOUGH_PROBLEMS:
            break
        if len(reading.result.values) > MAX_VALUES:
            reading.problems.append(too_many_values(number))
            break
    if not reading.result.values and not reading.problems:
        message = "The table has a header and no values."
        reading.problems.append(Problem(len(lines), None, message))
    if reading.problems:
        raise UnreadableFile(capped(reading.problems))
    return reading.result


def _check_header(header: _Header) -> None:
    number = header.index + 1
    problems = []
    lowered = [word.lower() for word in header.words]
    if "category" in lowered:
        place = lowered.index("category") + 1
        message = (
            "A table with categories holds scores, not measurements: fsbench makes the scores. "
            "Import the measurements they were made of."
        )
        problems.append(Problem(number, place, message))
    missing = [name for name in _REQUIRED if name not in header.names]
    if missing:
        message = f"The header has no column {', '.join(missing)}."
        problems.append(Problem(number, None, message))
    for place, name in enumerate(header.names, start=1):
        if name and header.names.index(name) != place - 1:
            message = f"{shown(header.words[place - 1])} is a second column for {name}."
            problems.append(Problem(number, place, message))
    if problems:
        raise UnreadableFile(problems)


def _row(reading: _Reading, line: str, number: int) -> None:
    header = reading.header
    try:
        words = _fields(line, header.delimiter)
    except csv.Error as error:
        reading.problems.append(Problem(number, None, f"The row cannot be read: {error}."))
        return
    if len(words) != len(header.names):
        message = (
            f"Found {len(words)} fields separated by {_DELIMITERS[header.delimiter]}, "
            f"expected {len(header.names)} as in the header."
        )
        reading.problems.append(Problem(number, None, message))
        return
    before = len(reading.problems)
    row = {name: word.strip() for name, word in zip(header.names, words, strict=True) if name}
    if row["value"] == "":
        return
    value = _value(reading, row["value"], number)
    test = _test(reading, row["test"], number)
    record_kb = _size(reading, row, "record_size_kb", number)
    file_kb = _size(reading, row, "file_size_kb", number)
    repeat = _size(reading, row, "repeat", number)
    unit = _UNITS.get(row["unit"].lower(), row["unit"])
    if not unit:
        _problem(reading, number, "unit", "The unit is missing (KB/s, ops/s, s, ...).")
    elif len(unit) > 20:
        _problem(reading, number, "unit", f"{shown(unit)} is too long for a unit.")
    if len(reading.problems) == before and (record_kb is None) != (file_kb is None):
        name = "record_size_kb" if record_kb is None else "file_size_kb"
        _problem(reading, number, name, "Give record size and file size, or neither.")
    if len(reading.problems) > before:
        return
    assert value is not None
    parsed = ParsedValue(
        test=test,
        record_size_kb=record_kb,
        file_size_kb=file_kb,
        value=value,
        unit=unit,
        line=number,
        filesystem=row.get("filesystem", ""),
        configuration=row.get("configuration", ""),
        hardware=row.get("hardware", ""),
        repeat=repeat,
    )
    _keep(reading, parsed)


def _keep(reading: _Reading, value: ParsedValue) -> None:
    key = (
        *(value.filesystem, value.configuration, value.hardware, value.repeat),
        *(value.test, value.record_size_kb, value.file_size_kb),
    )
    first = reading.seen.setdefault(key, value.line)
    if first != value.line:
        message = (
            f"The same cell was already given in line {first}. Repeats of a cell need a column "
            "repeat, or a file each."
        )
        _problem(reading, value.line, "value", message)
        return
    if value.value == 0:
        message = "0 is kept as measured; leave the value empty where nothing was measured."
        column = _column(reading, "value")
        reading.result.warnings.append(Problem(value.line, column, message))
    reading.result.values.append(value)


def _column(reading: _Reading, name: str) -> int | None:
    """The place of a column in its row, from 1."""
    names = reading.header.names
    return names.index(name) + 1 if name in names else None


def _problem(reading: _Reading, number: int, name: str, message: str) -> None:
    reading.problems.append(Problem(number, _column(reading, name), message))


def _test(reading: _Reading, text: str, number: int) -> str:
    plain = re.sub("[ _-]", "", text.lower())
    test = _KNOWN_TESTS.get(plain, text.lower().replace(" ", "_"))
    if not _TEST.fullmatch(test):
        message = f"Found {shown(text)}, expected the name of a test, such as random_read."
        _problem(reading, number, "test", message)
    return test


def _size(reading: _Reading, row: dict[str, str], name: str, number: int) -> int | None:
    """A whole number from 1, or None where the field is empty or the column is not there."""
    text = row.get(name, "")
    if not text:
        return None
    limit = _LARGEST[name]
    if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= limit:
        whole = f"a whole number from 1 to {_MAX_REPEAT:,}"
        expected = whole if name == "repeat" else "a size in KB, such as 64"
        _problem(reading, number, name, f"Found {shown(text)}, expected {expected}.")
        return None
    return int(text)


def _value(reading: _Reading, text: str, number: int) -> float | None:
    """The number, read with the file's own decimal sign; None and a problem when it is none."""
    message = ""
    if text.lower() in _NO_NUMBER:
        message = f"{text} is not a measurement. Leave the value empty where nothing was measured."
    elif _POINT.fullmatch(text):
        sign = "." if "." in text else ""
    elif _COMMA.fullmatch(text) and reading.header.delimiter != ",":
        sign = ","
    else:
        message = f"Found {shown(text)}, expected a number such as 1234.5, without separators."
    if not message and sign:
        if reading.decimal not in ("", sign):
            message = f"Found {shown(text)}, but numbers before have a decimal {reading.decimal!r}."
        reading.decimal = reading.decimal or sign
    if not message:
        value = float(text.replace(",", "."))
        if value > _MAX_VALUE:  # infinity too
            message = f"{shown(text)} is too large a number."
        elif value < 0:
            message = f"{text} is negative, and no rate or time is."
        else:
            return value
    _problem(reading, number, "value", message)
    return None
