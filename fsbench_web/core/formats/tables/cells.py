"""One number of a table, checked: what it is of, its sizes, its unit, and where it stands. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from fsbench_web.core.formats.iozone.tables import TESTS
from fsbench_web.core.formats.result import (
    MAX_REPEAT,
    MAX_VALUE,
    MIN_VALUE,
    OwnKey,
    Problem,
    load_text,
)
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.formats.text import quoted, underflows
from fsbench_web.core.units import (
    OPEN_UNITS,
    OPERATIONS,
    converted,
    most_measurable,
    unit_factor,
)

_UNITS = {
    "kb/s": "KB/s",
    "kb/sec": "KB/s",
    "kbytes/s": "KB/s",
    "kbytes/sec": "KB/s",
    "kib/s": "KiB/s",
    "kib/sec": "KiB/s",
    "mib/s": "MiB/s",
    "mib/sec": "MiB/s",
    "gib/s": "GiB/s",
    "gib/sec": "GiB/s",
    "ops/sec": "ops/s",
    **{"iops": "IOPS", "kiops": "kIOPS"},
    "us": "µs",
    "μs": "µs",
}
_LOAD_AT_THE_END = re.compile(r"@[a-z]+=[0-9]+(?:,[a-z]+=[0-9]+)*$")
"""What scoring.testnames would read as the load of a test."""
MAX_TEST = 100
"""Characters of a test: with every load behind it the database keeps 190."""
# "Random Write", "random-write" and "Re-read" are tests that have a name here already.
KNOWN_TESTS = {test.replace("_", ""): test for test in TESTS}
# What fio and others call them, in headers: whoever imports sees the proposal and corrects it.
OTHER_NAMES = {
    **dict.fromkeys(("randread", "rndrd", "rndread", "randr"), "random_read"),
    **dict.fromkeys(("randwrite", "rndwr", "rndwrite", "randw"), "random_write"),
    **dict.fromkeys(("seqread", "sequentialread", "seqrd", "seqr"), "read"),
    **dict.fromkeys(("seqwrite", "sequentialwrite", "seqwr", "seqw"), "write"),
}
_WHOLE = re.compile("[0-9]{1,12}")
_SIZE = re.compile(r"([0-9]{1,15})(?:\.0+)?\s*(b|bytes|[kmgt]i?b?|[kmgt]i?bytes)?", re.IGNORECASE)
_POINT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_GROUPS = {
    ".": re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(\.[0-9]*)?"),
    ",": re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+(,[0-9]*)?"),
}
"""Numbers with thousands set apart, by their decimal sign."""
_SURE_GROUPS = {
    ".": re.compile(r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+\.[0-9]*|(?:,[0-9]{3}){2,})"),
    ",": re.compile(r"[1-9][0-9]{0,2}(?:(?:\.[0-9]{3})+,[0-9]*|(?:\.[0-9]{3}){2,})"),
}
"""Those of them that tell it themselves: 1,034.5 has both signs, 1,234,567 one of them twice."""
_ONE_GROUP = re.compile(r"[1-9][0-9]{0,2}([.,])[0-9]{3}")
_UNGROUPED = re.compile("[0-9]{1,3}")
_COMMA = re.compile(r"[+-]?([0-9]+(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]{1,3})?")
_NO_NUMBER = {"nan", "inf", "infinity", "-inf", "+inf", "-infinity"}
MISSING = {
    *("", "-", "–", "—", "n/a", "N/A", "+++++"),
    *("NA", "NaN", "nan", "#N/A", "NULL", "null", "None"),
}
"""How people write a cell that was not measured, and R, pandas, spreadsheets and databases."""
SIZE_UNITS = {"bytes": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
"""Bytes in a unit of a size. KB are 1024 bytes, as everywhere here."""
_SUFFIXES = {"b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
# Largest numbers the database keeps for a size (PositiveIntegerField, PositiveBigIntegerField).
MAX_RECORD_KB = 2**31 - 1
MAX_FILE_KB = 10**12
SIZES = ("record_size_kb", "file_size_kb")
MAX_LOAD = 10**9
MAX_BLOCK = 60
_MAX_UNIT = 20
LOADS = ("threads", "iodepth", "jobs", "tasks", "clients")
"""What a column may say of a load (result.load_text)."""
FIELDS = (
    *("test", "record_size_kb", "file_size_kb", "value", "unit"),
    *("filesystem", "configuration", "hardware", "kernel", "repeat", "date", "block", *LOADS),
)
_CELL_UNITS = {
    **{"nsec": "ns", "usec": "µs", "msec": "ms"},
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("mins", "minutes"), "min"),
}
"""Units of times as people write them behind a number."""
_THOUSANDS = {"k": 1000, "K": 1000, "M": 1_000_000}
_NUMBER_WITH_UNIT = re.compile(
    r"([+-]?[0-9.,]{1,40}(?:[eE][+-]?[0-9]{1,3})?)\s{0,3}([A-Za-z\u00b5\u03bc][A-Za-z\u00b5\u03bc/_]{0,19})"
)


_BYTES_A_SECOND = re.compile("([MGT])B(?:/sec|ps|ytes/s|ytes/sec)")
_MAYBE_BITS = re.compile("[KMGT]i?b/s(?:ec)?")
"""A small b behind a capital letter: bits, if its author tells them apart."""


# Remembered, because each row of a table names test, sizes and unit anew, and they hardly differ.
@lru_cache(maxsize=512)
def unit_of(text: str) -> str:
    """A unit as fsbench writes it. ``mb/s`` and ``Mb/s`` stay: they may be bits."""
    text = text.strip()
    if _MAYBE_BITS.fullmatch(text) is not None:
        return text
    if (match := _BYTES_A_SECOND.fullmatch(text)) is not None:
        return f"{match[1]}B/s"
    return _UNITS.get(text.lower(), text)


@lru_cache(maxsize=512)
def test_of(text: str) -> str | None:
    """The name of a test as fsbench writes it; None for what is none, or ends like a load."""
    plain = re.sub("[ _-]", "", text.strip().lower())
    test = KNOWN_TESTS.get(plain) or re.sub(r"\s+", "_", text.strip().lower())
    if not test or text.strip() in MISSING or len(test) > MAX_TEST or not test.isprintable():
        return None
    return None if _LOAD_AT_THE_END.search(test) else test


def known_test(text: str) -> str:
    """The test of IOzone that a header names, or that other tools call so; or ""."""
    plain = re.sub("[ _-]", "", text.strip().lower())
    return KNOWN_TESTS.get(plain, OTHER_NAMES.get(plain, ""))


def other_name(test: str) -> str:
    """What is called so elsewhere, by the name that it has here: ``randread``; or ""."""
    return OTHER_NAMES.get(re.sub("[ _-]", "", test.strip().lower()), "")


@lru_cache(maxsize=512)
def size_kb(text: str, unit_bytes: int = 1024) -> int | None:
    """A size in KB; None if it is not a whole number of KB. A suffix goes before ``unit_bytes``."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    factor = _SUFFIXES[match[2][0].lower()] if match[2] else unit_bytes
    total = int(match[1]) * factor
    return total // 1024 if total and total % 1024 == 0 else None


def number_and_unit(text: str) -> tuple[str, str]:
    """What a cell says: ``1.2 GiB/s`` is ("1.2", "GiB/s"), ``48k`` is ("48", "k"), any other text
    is (text, "").
    """
    match = _NUMBER_WITH_UNIT.fullmatch(text)
    if match is None:
        return text, ""
    word = match[2]
    unit = word if word in _THOUSANDS else _CELL_UNITS.get(word.lower(), unit_of(word))
    is_known = word in _THOUSANDS or unit_factor(unit) or unit.removesuffix("/s") in OPEN_UNITS
    return (match[1], unit) if is_known else (text, "")


@dataclass
class CellPosition:
    """A word of the table with its column, from 1; None: no column."""

    text: str
    column: int | None = None


@dataclass
class Grouping:
    """Whether numbers may have their thousands set apart: 1.234, 12.345 and 987 are thousands or
    thousandths, and only their author knows. One number that is clear decides for all.
    """

    first: tuple[int, str] | None = None
    has_ungrouped: bool = False
    is_clear: bool = False

    def see(self, line: int, text: str) -> None:
        if _ONE_GROUP.fullmatch(text):
            self.first = self.first or (line, text)
        elif _UNGROUPED.fullmatch(text):
            self.has_ungrouped = True
        else:
            self.is_clear = True

    def question(self) -> Problem | None:
        """What to ask at the first number in doubt, or None.

        Tools print three decimals (%.3f) with a point: where every number has one, they are
        decimals.
        """
        if self.is_clear or self.first is None:
            return None
        line, text = self.first
        if "." in text and not self.has_ungrouped:
            return None
        plain = text.replace(",", "").replace(".", "")
        return problem("decimal_sign_open", line, found=quoted(text), whole=plain)

    @property
    def has_comma(self) -> bool:
        return self.first is not None and "," in self.first[1]


Cells = Mapping[str, CellPosition]
"""The words of a number, by ``FIELDS``."""


@dataclass(frozen=True)
class Cell:
    """One number of a table: name, load and unit; record and file size; column from 1."""

    test: tuple[str, str, str]
    sizes_kb: tuple[int | None, int | None]
    value: float
    column: int | None
    run: OwnKey
    date: CellPosition | None


@dataclass
class CellReading:
    """What earlier cells said, and what is wrong with them.

    ``comma``: a comma may be a decimal sign. ``record_bytes``, ``file_bytes``: units of bare sizes,
    0 if unknown. ``is_given``: the decimal sign is certain.
    """

    comma: bool
    record_bytes: int = 1024
    file_bytes: int = 1024
    decimal: str = ""
    """The decimal sign of the file, once one has been seen or said."""
    is_given: bool = False
    not_measured: frozenset[str] = frozenset()
    """What somebody said that cells have where nothing was measured, besides ``MISSING``."""
    said: dict[str, tuple[int, int, int | None]] = field(default_factory=dict)
    """Of these words: how many cells, and the line and column of the first."""
    grouping: Grouping = field(default_factory=Grouping)
    asks_something: bool = False
    """Whether somebody has to say what the table leaves open."""
    words: int = 0
    """Values that are no numbers, and may be words for what was not measured."""
    problems: list[Problem] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    """The unit of each test with units in its cells."""

    def refuse(
        self, line: int | None, place: CellPosition | None, code: str, **parameters: Any
    ) -> None:
        self.problems.append(problem(code, line, place.column if place else None, **parameters))


def read_cell(reading: CellReading, line: int, data: Cells) -> Cell | None:
    """One number of a table from the words of its row; None: not measured, or refused."""
    place = data["value"]
    if place.text in MISSING:
        return None
    if place.text in reading.not_measured:
        count, first, column = reading.said.get(place.text, (0, line, place.column))
        reading.said[place.text] = count + 1, first, column
        return None
    before = len(reading.problems)
    test = test_of(data["test"].text)
    if test is None:
        found = quoted(data["test"].text)
        reading.refuse(line, data["test"], "no_test_name", found=found, most=MAX_TEST)
    given = unit_of(data["unit"].text) if "unit" in data else ""
    value, unit = _value_in_unit(reading, place, line, given, test or "")
    record_kb, file_kb = (read_size(reading, data, name, line) for name in SIZES)
    repeat = _repeat(reading, data, line)
    load = _load(reading, data, line)
    if "block" in data and len(data["block"].text) > MAX_BLOCK:
        reading.refuse(line, data["block"], "block_name_too_long", most=MAX_BLOCK)
    if not unit:
        reading.refuse(line, data.get("unit"), "unit_missing")
    elif len(unit) > _MAX_UNIT:
        reading.refuse(line, data.get("unit"), "unit_too_long", found=quoted(unit))
    if value is not None and value > most_measurable(unit):
        reading.refuse(line, place, "beyond_measure", found=quoted(place.text), unit=unit)
    if len(reading.problems) == before and (record_kb is None) != (file_kb is None):
        _refuse_one_size(reading, data, line, lacks_file=file_kb is None)
        return None
    if len(reading.problems) > before:
        return None
    assert value is not None
    assert test is not None
    filesystem, configuration, hardware, block, kernel = (
        data[name].text if name in data else ""
        for name in ("filesystem", "configuration", "hardware", "block", "kernel")
    )
    return Cell(
        (test, load, unit),
        (record_kb, file_kb),
        value,
        place.column,
        (filesystem, configuration, hardware, repeat, block, kernel),
        data.get("date"),
    )


def may_mean_nothing(word: str) -> bool:
    """Whether a word can be said to mean that nothing was measured: no number that may be one."""
    return not _POINT.fullmatch(word) or word.startswith("-")


def _refuse_one_size(reading: CellReading, data: Cells, line: int, *, lacks_file: bool) -> None:
    """Say which size is missing; once where the table has no such column."""
    name = "file_size_kb" if lacks_file else "record_size_kb"
    if name in data:
        code = "file_size_empty" if lacks_file else "block_size_empty"
        reading.refuse(line, data[name], code)
    elif not reading.asks_something:
        reading.refuse(line, None, "no_file_size" if lacks_file else "no_block_size")
        reading.asks_something = True


def read_size(reading: CellReading, data: Cells, name: str, line: int) -> int | None:
    """A size in KB, or None where nothing says one, or what says it is refused."""
    place = data.get(name, CellPosition(""))
    size, is_size = size_of(reading, name, place.text)
    if is_size:
        return size
    unit_bytes = reading.record_bytes if name == SIZES[0] else reading.file_bytes
    if not unit_bytes and place.text.isdecimal():
        reading.asks_something = True
        reading.refuse(line, place, "size_without_unit", found=quoted(place.text))
    else:
        reading.refuse(line, place, "no_size", found=quoted(place.text))
    return None


def size_of(reading: CellReading, name: str, text: str) -> tuple[int | None, bool]:
    """The size in KB that a word of a column of sizes means, and whether it means any or none."""
    if text in MISSING:
        return None, True
    is_record = name == SIZES[0]
    unit_bytes = reading.record_bytes if is_record else reading.file_bytes
    if not unit_bytes and text.isdecimal():
        return None, False
    if unit_bytes == 1024 and len(text) < 10 and text.isascii() and text.isdigit():
        size: int | None = int(text) or None
    else:
        size = size_kb(text, unit_bytes)
    return size, size is not None and size <= (MAX_RECORD_KB if is_record else MAX_FILE_KB)


def _repeat(reading: CellReading, data: Cells, line: int) -> int | None:
    place = data.get("repeat")
    if place is None or not place.text:
        return None
    repeat = repeat_of(place.text)
    if repeat is None:
        reading.refuse(line, place, "no_repeat", found=quoted(place.text), most=f"{MAX_REPEAT:,}")
    return repeat


def _load(reading: CellReading, data: Cells, line: int) -> str:
    counts: dict[str, int] = {}
    for name in LOADS:
        place = data.get(name)
        if place is None or place.text in MISSING:
            continue
        if not _WHOLE.fullmatch(place.text) or not 1 <= int(place.text) <= MAX_LOAD:
            reading.refuse(line, place, "no_load", found=quoted(place.text), field=name)
        else:
            counts[name] = int(place.text)
    return load_text(**counts)


def repeat_of(text: str) -> int | None:
    """The number of a repeat, or None for what is none. Some count from 0."""
    if not _WHOLE.fullmatch(text) or int(text) > MAX_REPEAT:
        return None
    return int(text)


def _value_in_unit(
    reading: CellReading, place: CellPosition, line: int, given: str, test: str
) -> tuple[float | None, str]:
    """A cell's number, converted to the unit of the table or of the test's first cell."""
    text, own_unit = number_and_unit(place.text)
    value = _value(reading, CellPosition(text, place.column), line)
    unit = given or reading.units.get(test, "")
    if not unit and own_unit not in _THOUSANDS:
        unit = reading.units[test] = own_unit
    if value is None or own_unit in ("", unit):
        return value, unit
    if own_unit in _THOUSANDS:
        factor = unit_factor(unit)
        if unit and (factor is None or factor.dimension != OPERATIONS):
            reading.refuse(line, place, "thousands_of_what", found=quoted(place.text), unit=unit)
            return None, unit
        return converted(value, Fraction(_THOUSANDS[own_unit])), unit
    own, other = unit_factor(own_unit), unit_factor(unit)
    if own is None or other is None or own.dimension != other.dimension:
        reading.refuse(
            line, place, "units_differ", found=quoted(place.text), unit=own_unit, other=unit
        )
        return None, unit
    return converted(value, own.factor / other.factor), unit


def _value(reading: CellReading, place: CellPosition, line: int) -> float | None:
    """The number, read with the file's own decimal sign; None and a problem when it is none."""
    text, sign, code = _plain_number(reading, place.text)
    if not code and sign:
        is_sure = bool(_sure_sign(place.text))
        if reading.decimal not in ("", sign):
            code = "other_decimal_sign"
            # Those before may have had their thousands set apart: 90,546 and then 1,234,567.5.
            reading.asks_something = reading.asks_something or (is_sure and not reading.is_given)
        reading.decimal = reading.decimal or sign
        reading.is_given = reading.is_given or (is_sure and reading.decimal == sign)
    if not code:
        reading.grouping.see(line, text)
        value = float(text.replace(",", "."))
        if value > MAX_VALUE:  # infinity too
            code = "too_large"
        elif underflows(text, value):
            code = "too_small"
        elif value < 0:
            code = "negative"
        else:
            return value + 0.0  # a negative zero becomes a plain one
    reading.words += may_mean_nothing(place.text)
    found = place.text if code in ("negative", "not_a_measurement") else quoted(place.text)
    reading.refuse(line, place, code, found=found, sign=repr(reading.decimal), least=MIN_VALUE)
    return None


def _plain_number(reading: CellReading, text: str) -> tuple[str, str, str]:
    """A number without thousands separators, its decimal sign or "", and why it is none or ""."""
    if text.lower() in _NO_NUMBER:
        return text, "", "not_a_measurement"
    if sign := _sure_sign(text):
        return _without_groups(text, sign), sign, ""
    if reading.is_given and _GROUPS[reading.decimal].fullmatch(text):
        return _without_groups(text, reading.decimal), "", ""
    if _POINT.fullmatch(text):
        return text, "." if "." in text else "", ""
    is_comma = reading.comma or (reading.is_given and reading.decimal == ",")
    if is_comma and _COMMA.fullmatch(text):
        return text, ",", ""
    if _COMMA.fullmatch(text) and not reading.is_given:
        reading.asks_something = True
        return text, "", "comma_between_commas"
    return text, "", "not_a_number"


def _sure_sign(text: str) -> str:
    """The decimal sign of a number that tells it by how its thousands are set apart, or ""."""
    return next((sign for sign, pattern in _SURE_GROUPS.items() if pattern.fullmatch(text)), "")


def _without_groups(text: str, decimal: str) -> str:
    return text.replace("," if decimal == "." else ".", "")
