"""One number of a table, checked: what it is of, its sizes, its unit, and where it stands. Pure."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from fsbench_web.core.conversion import most_measurable
from fsbench_web.core.formats.iozone.header import TESTS
from fsbench_web.core.formats.result import (
    MAX_REPEAT,
    MAX_VALUE,
    MAX_VALUES,
    MIN_VALUE,
    ParsedResult,
    ParsedValue,
    Problem,
    load_text,
    own_key,
)
from fsbench_web.core.formats.text import (
    ENOUGH_PROBLEMS,
    beyond_measure,
    quoted,
    underflows,
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
_TEST = re.compile("[a-z0-9][a-z0-9_.-]{0,59}")
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
MAX_LOAD = 10**9
MAX_BLOCK = 60
A_REPEAT = f"a whole number from 0 to {MAX_REPEAT:,}"
A_ZERO = "0 is kept as measured; leave the value empty where nothing was measured."
_NO_FILE_SIZE = (
    "There is a block size and no file size, and a data point has both: add a column file_size "
    "with what each test worked on (ext4,randread,4k,1g,812 under fs,rw,bs,file_size,bw), or say "
    "on the import page the file size of all rows. Where nobody knows it, write the block size "
    "into the test (randread_bs_4k) and leave its column out."
)
_NO_BLOCK_SIZE = (
    "There is a file size and no block size, and a data point has both: add a column bs with the "
    "size of each request (ext4,randread,4k,1g,812 under fs,rw,bs,file_size,bw), or say on the "
    "import page the block size of all rows."
)
LOADS = ("threads", "iodepth", "jobs", "tasks", "clients")
"""What a column may say of a load (result.load_text)."""
FIELDS = (
    *("test", "record_size_kb", "file_size_kb", "value", "unit"),
    *("filesystem", "configuration", "hardware", "kernel", "repeat", "block", *LOADS),
)


_BYTES_A_SECOND = re.compile("([MGT])B(?:/sec|ps|ytes/s|ytes/sec)")
_MAYBE_BITS = re.compile("[KMGT]i?b/s(?:ec)?")
"""A small b behind a capital letter: whoever tells them apart means bits."""


# Remembered, because each row of a table names test, sizes and unit anew, and they hardly differ.
@lru_cache(maxsize=512)
def unit_of(text: str) -> str:
    """A unit as fsbench writes it, where it is certain that both are one.

    ``mb/s``, ``Mb/s`` and ``Mib/s`` stay: a small b is of bits as often as of bytes.
    """
    text = text.strip()
    if _MAYBE_BITS.fullmatch(text) is not None:
        return text
    if (match := _BYTES_A_SECOND.fullmatch(text)) is not None:
        return f"{match[1]}B/s"
    return _UNITS.get(text.lower(), text)


@lru_cache(maxsize=512)
def test_of(text: str) -> str | None:
    """The name of a test as fsbench writes it, or None for what is none."""
    plain = re.sub("[ _-]", "", text.strip().lower())
    test = KNOWN_TESTS.get(plain, re.sub(r"\s+", "_", text.strip().lower()))
    return test if _TEST.fullmatch(test) else None


def known_test(text: str) -> str:
    """The test of IOzone that a header names, or that other tools call so; or ""."""
    plain = re.sub("[ _-]", "", text.strip().lower())
    return KNOWN_TESTS.get(plain, OTHER_NAMES.get(plain, ""))


def other_name(test: str) -> str:
    """What is called so elsewhere, by the name that it has here: ``randread``; or ""."""
    return OTHER_NAMES.get(re.sub("[ _-]", "", test.strip().lower()), "")


@lru_cache(maxsize=512)
def size_kb(text: str, unit_bytes: int = 1024) -> int | None:
    """A size in KB, or None for what is no whole number of KB from 1.

    A suffix (64k, 1 MB, 4096 bytes) goes before ``unit_bytes``, what the column is said to be in.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    factor = _SUFFIXES[match[2][0].lower()] if match[2] else unit_bytes
    total = int(match[1]) * factor
    return total // 1024 if total and total % 1024 == 0 else None


@dataclass
class CellPosition:
    """A word of the table with its column, from 1; None where the word stands in no column."""

    text: str
    column: int | None = None


@dataclass
class Grouping:
    """Whether numbers may have their thousands set apart: 1.234, 12.345 and 987 are thousands or
    thousandths, and only whoever wrote them knows. One number that is clear decides for all.
    """

    first: tuple[int, str] | None = None
    has_ungrouped: bool = False
    is_clear: bool = False

    def see(self, line: int, text: str) -> None:
        """Take a number as it is written."""
        if _ONE_GROUP.fullmatch(text):
            self.first = self.first or (line, text)
        elif _UNGROUPED.fullmatch(text):
            self.has_ungrouped = True
        else:
            self.is_clear = True

    def question(self) -> Problem | None:
        """What to ask, at the first number in doubt; None where nothing is.

        Tools write three decimals of every number (printf's %.3f), with a point as a rule: where
        no number is without a point, they are decimals.
        """
        if self.is_clear or self.first is None:
            return None
        line, text = self.first
        if "." in text and not self.has_ungrouped:
            return None
        plain = text.replace(",", "").replace(".", "")
        message = (
            f"{quoted(text)} may be {plain} or a thousandth of it, and no number of the table "
            "tells which: say the decimal sign on the import page, or write the numbers without "
            "separators of thousands."
        )
        return Problem(line, None, message)


@dataclass
class TableReading:
    """A table while it is read. ``comma``: whether a comma may be a decimal sign; ``record_bytes``
    and ``file_bytes``: what a size without a unit is in, 0 where nobody said it. ``is_given``:
    whether somebody said the decimal sign, or a number told it for sure.
    """

    result: ParsedResult
    comma: bool
    record_bytes: int = 1024
    file_bytes: int = 1024
    decimal: str = ""
    """The decimal sign of the file, once one has been seen or said."""
    is_given: bool = False
    not_measured: frozenset[str] = frozenset()
    """What somebody said that cells have where nothing was measured, besides ``MISSING``."""
    unread: list[str] = field(default_factory=list)
    """Words of the header that nothing reads, of which one may tell repeats apart."""
    grouping: Grouping = field(default_factory=Grouping)
    lacks_sign: bool = False
    """Whether somebody has to say what sizes are: their unit, or the other one of the two."""
    words: int = 0
    """Values that are no numbers, and may be words for what was not measured."""
    problems: list[Problem] = field(default_factory=list)
    first_lines: dict[tuple[object, ...], int] = field(default_factory=dict)

    def refuse(self, line: int, place: CellPosition | None, message: str) -> None:
        self.problems.append(Problem(line, place.column if place else None, message))

    @property
    def asks(self) -> bool:
        """Whether somebody can say what is missing, or that all that is wrong are words."""
        return self.lacks_sign or bool(self.words == len(self.problems) and self.result.values)

    @property
    def is_full(self) -> bool:
        """Whether it has more values than any one table may have."""
        return len(self.result.values) > MAX_VALUES

    @property
    def has_enough_problems(self) -> bool:
        """Whether nobody would read further ones."""
        return len(self.problems) >= ENOUGH_PROBLEMS


def read_cell(reading: TableReading, line: int, data: dict[str, CellPosition]) -> None:
    """Keep one number of a table, or note everything that is wrong with it.

    ``data`` are the words of its row by ``FIELDS``; a value of ``MISSING`` was not measured.
    """
    if data["value"].text in MISSING:
        return
    if data["value"].text in reading.not_measured:
        message, place = not_measured(data["value"].text), data["value"].column
        reading.result.warnings.append(Problem(line, place, message, is_note=True))
        return
    before = len(reading.problems)
    value = _value(reading, data["value"], line)
    test = test_of(data["test"].text)
    if test is None:
        text = quoted(data["test"].text)
        message = f"Found {text}, expected the name of a test, such as random_read."
        reading.refuse(line, data["test"], message)
    record_kb = read_size(reading, data, "record_size_kb", line)
    file_kb = read_size(reading, data, "file_size_kb", line)
    repeat = _repeat(reading, data, line)
    load = _load(reading, data, line)
    if "block" in data and len(data["block"].text) > MAX_BLOCK:
        message = f"The name of a block has more than {MAX_BLOCK} characters."
        reading.refuse(line, data["block"], message)
    unit = unit_of(data["unit"].text) if "unit" in data else ""
    if not unit:
        reading.refuse(line, data.get("unit"), "The unit is missing (KB/s, ops/s, s, ...).")
    elif len(unit) > 20:
        reading.refuse(line, data.get("unit"), f"{quoted(unit)} is too long for a unit.")
    if value is not None and value > most_measurable(unit):
        reading.refuse(line, data["value"], beyond_measure(data["value"].text, unit))
    if len(reading.problems) == before and (record_kb is None) != (file_kb is None):
        _refuse_one_size(reading, data, line, lacks_file=file_kb is None)
        return
    if len(reading.problems) > before:
        return
    assert value is not None
    assert test is not None
    parsed = ParsedValue(
        test=test,
        record_size_kb=record_kb,
        file_size_kb=file_kb,
        value=value,
        unit=unit,
        line=line,
        filesystem=_text(data, "filesystem"),
        configuration=_text(data, "configuration"),
        hardware=_text(data, "hardware"),
        repeat=repeat,
        load=load,
        block=_text(data, "block"),
        kernel=_text(data, "kernel"),
    )
    _keep(reading, parsed, data["value"])


def not_measured(word: str) -> str:
    """What is noted of a cell with a word that somebody said."""
    return f"{quoted(word)} was said to mean that nothing was measured."


def may_mean_nothing(word: str) -> bool:
    """Whether a word can be said to mean that nothing was measured: no number that may be one."""
    return not _POINT.fullmatch(word) or word.startswith("-")


def _refuse_one_size(
    reading: TableReading, data: dict[str, CellPosition], line: int, *, lacks_file: bool
) -> None:
    """Say what to add to a size of a block without one of its file, or the reverse. Where the
    table has no such column it is said once, and not of each row.
    """
    name = "file_size_kb" if lacks_file else "record_size_kb"
    if name in data:
        lacking = "file size" if lacks_file else "block size"
        message = f"The {lacking} is missing: give block size and file size, or neither."
        reading.refuse(line, data[name], message)
    elif not reading.lacks_sign:
        reading.refuse(line, None, _NO_FILE_SIZE if lacks_file else _NO_BLOCK_SIZE)
        reading.lacks_sign = True


def _text(data: dict[str, CellPosition], name: str) -> str:
    return data[name].text if name in data else ""


def _keep(reading: TableReading, value: ParsedValue, place: CellPosition) -> None:
    key = (
        *own_key(value),
        *(value.test, value.load, value.record_size_kb, value.file_size_kb),
    )
    first = reading.first_lines.setdefault(key, value.line)
    if len(reading.first_lines) == len(reading.result.values):
        if reading.unread and reading.lacks_sign:
            return  # asked already, and further ones say no more
        message = (
            f"The same cell was already given in line {first}. Repeats of a cell need a column "
            "repeat or block, or a file each; what was measured at other loads needs a column "
            f"{', '.join(LOADS[:-1])} or {LOADS[-1]}."
        )
        if reading.unread:
            reading.lacks_sign = True
            words = ", ".join(quoted(word) for word in reading.unread[:6])
            message += f" Nothing reads {words}: say on the import page what stands there."
        reading.refuse(value.line, place, message)
        return
    if value.value == 0:
        reading.result.warnings.append(Problem(value.line, place.column, A_ZERO, is_note=True))
    reading.result.values.append(value)


def read_size(
    reading: TableReading, data: dict[str, CellPosition], name: str, line: int
) -> int | None:
    """A size in KB, or None where nothing says one."""
    place = data.get(name)
    if place is None or place.text in MISSING:
        return None
    is_record = name == "record_size_kb"
    unit_bytes = reading.record_bytes if is_record else reading.file_bytes
    size = size_kb(place.text, unit_bytes)
    if not unit_bytes and place.text.isdecimal():
        reading.lacks_sign = True
        message = (
            f"{quoted(place.text)} has no unit, and may be bytes or KB: say which on the import "
            "page, in the header, as in record_size_kb or bs (bytes), or with each size, as in 4k."
        )
        reading.refuse(line, place, message)
        return None
    if size is None or size > (MAX_RECORD_KB if is_record else MAX_FILE_KB):
        message = f"Found {quoted(place.text)}, expected a size in KB, such as 64."
        reading.refuse(line, place, message)
        return None
    return size


def _repeat(reading: TableReading, data: dict[str, CellPosition], line: int) -> int | None:
    place = data.get("repeat")
    if place is None or not place.text:
        return None
    repeat = repeat_of(place.text)
    if repeat is None:
        reading.refuse(line, place, f"Found {quoted(place.text)}, expected {A_REPEAT}.")
    return repeat


def _load(reading: TableReading, data: dict[str, CellPosition], line: int) -> str:
    """What worked at the same time, as measurements keep it."""
    counts: dict[str, int] = {}
    for name in LOADS:
        place = data.get(name)
        if place is None or place.text in MISSING:
            continue
        if not _WHOLE.fullmatch(place.text) or not 1 <= int(place.text) <= MAX_LOAD:
            message = f"Found {quoted(place.text)}, expected how many {name} there were, such as 8."
            reading.refuse(line, place, message)
        else:
            counts[name] = int(place.text)
    return load_text(**counts)


def repeat_of(text: str) -> int | None:
    """The number of a repeat, or None for what is none. Some count from 0."""
    if not _WHOLE.fullmatch(text) or int(text) > MAX_REPEAT:
        return None
    return int(text)


def _value(reading: TableReading, place: CellPosition, line: int) -> float | None:
    """The number, read with the file's own decimal sign; None and a problem when it is none."""
    text, sign, message = _plain_number(reading, place.text)
    if not message and sign:
        is_sure = bool(_sure_sign(place.text))
        if reading.decimal not in ("", sign):
            message = (
                f"Found {quoted(place.text)}, but numbers before have a decimal "
                f"{reading.decimal!r}."
            )
            # Those before may have had their thousands set apart: 90,546 and then 1,234,567.5.
            reading.lacks_sign = reading.lacks_sign or (is_sure and not reading.is_given)
        reading.decimal = reading.decimal or sign
        reading.is_given = reading.is_given or (is_sure and reading.decimal == sign)
    if not message:
        reading.grouping.see(line, text)
        value = float(text.replace(",", "."))
        if value > MAX_VALUE:  # infinity too
            message = f"{quoted(text)} is too large a number."
        elif underflows(text, value):
            message = f"{quoted(text)} is too small a number: no measurement is below {MIN_VALUE}."
        elif value < 0:
            message = f"{text} is negative, and no rate or time is."
        else:
            return value + 0.0  # a negative zero becomes a plain one
    reading.words += may_mean_nothing(place.text)
    reading.refuse(line, place, message)
    return None


def _plain_number(reading: TableReading, text: str) -> tuple[str, str, str]:
    """A number without what sets its thousands apart, the decimal sign that it shows or "", and
    why it is none or has to be asked about, or "".
    """
    if text.lower() in _NO_NUMBER:
        reason = f"{text} is not a measurement. Leave the value empty where nothing was measured."
        return text, "", reason
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
        reading.lacks_sign = True
        reason = (
            f"{quoted(text)} has a comma in a table that commas separate: say on the import page "
            "whether it is its decimal sign."
        )
        return text, "", reason
    return text, "", f"Found {quoted(text)}, expected a number such as 1234.5, without separators."


def _sure_sign(text: str) -> str:
    """The decimal sign of a number that tells it by how its thousands are set apart, or ""."""
    return next((sign for sign, pattern in _SURE_GROUPS.items() if pattern.fullmatch(text)), "")


def _without_groups(text: str, decimal: str) -> str:
    """A number without what sets its thousands apart."""
    return text.replace("," if decimal == "." else ".", "")
