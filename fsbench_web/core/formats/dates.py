"""When the runs of a file were measured, where the tool prints it.

Most tools print the date before the run's numbers, a few print it after them. A date without a time
zone is of the clock of the measured machine. Sources: the tools' code and the samples of tests. The
seed in bonnie++'s CSV looks like seconds since 1970, but is not a date.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from fsbench_web.core.formats.result import OwnKey, ParsedValue, PrintedDate, own_key

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_CTIME = rf"(?:{_DAYS}) (?:{'|'.join(MONTHS)}) [ 0-3]?[0-9] [0-9:]{{8}} [0-9]{{4}}"
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_JAVA = rf"(?:{'|'.join(MONTHS)}|[0-9]{{1,2}}\u6708) [0-9]{{2}},? [0-9]{{4}}"
_SLASHED = r"[0-9]{2,4}/[0-9]{2}/[0-9]{2,4}"


def ctime(text: str) -> datetime:
    """The time that ctime(3) wrote, without a zone. Raises ValueError."""
    # Not by strptime: it knows the months of the locale only.
    _, month, day, time, year = text.split()
    hour, minute, second = map(int, time.split(":"))
    return datetime(int(year), MONTHS.index(month) + 1, int(day), hour, minute, second)


def _seconds(text: str) -> datetime:
    return datetime.fromtimestamp(int(text), UTC)


def _milliseconds(text: str) -> datetime:
    seconds, rest = divmod(int(text), 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


def _year_first(text: str) -> datetime:
    day, time, *zone = text.split()
    moment = datetime.strptime(f"{day} {time.zfill(8)}", "%Y/%m/%d %H:%M:%S")
    return moment.replace(tzinfo=UTC) if zone == ["UTC"] else moment


def _name_first(text: str) -> datetime:
    """Java's "02:42:35 Oct 09 2019 UTC" and "Oct 09, 2019"; Chinese months are numbers."""
    *time, month, day, year = text.replace(",", "").replace(" UTC", "").split()
    number = MONTHS.index(month) + 1 if month in MONTHS else int(month.rstrip("\u6708"))
    hour, minute, second = map(int, time[0].split(":")) if time else (0, 0, 0)
    moment = datetime(int(year), number, int(day), hour, minute, second)
    return moment.replace(tzinfo=UTC) if text.endswith(" UTC") else moment


def _month_first(text: str) -> datetime:
    # Vdbench puts its zone behind: of the abbreviations only that of UTC is one place's alone.
    zone = text[20:]
    moment = datetime.strptime(text[:19].replace("-", " "), "%m/%d/%Y %H:%M:%S")
    return moment.replace(tzinfo=UTC) if zone in ("UTC", "GMT") else moment


class _Line(NamedTuple):
    """A line that says when: the first group of ``pattern`` is the date.

    Patterns begin with fixed text or at the line's beginning: each line of a file is searched.
    """

    pattern: re.Pattern[str]
    read: Callable[[str], datetime]
    is_behind: bool = False


def _line(pattern: str, read: Callable[[str], datetime], *, is_behind: bool = False) -> _Line:
    return _Line(re.compile(pattern), read, is_behind)


_BEGAN = _line(rf"Run began: ({_CTIME})", ctime)
_SUMMARY = "^Vdbench summary report, created "
_LINES: dict[str, tuple[_Line, ...]] = {
    "aim7": (_line(rf"({_CTIME})\s*$", ctime),),
    "crystaldiskmark": (
        _line(
            rf"Date: ({_SLASHED} [0-9]{{1,2}}:[0-9]{{2}}:[0-9]{{2}})", _year_first, is_behind=True
        ),
    ),
    "db_bench": (_line(rf"Date:\s+({_CTIME})", ctime),),
    "diskspd": (_line(rf"start time: ({_SLASHED} [0-9:]{{8}}(?: UTC)?)", _year_first),),
    "elbencho": (_line(rf"ISO DATE: ({_ISO})", datetime.fromisoformat),),
    "elbencho-csv": (_line(rf"^({_ISO}),", datetime.fromisoformat),),
    "elbencho-json": (_line(rf'"iso_start_date" *: *"({_ISO})"', datetime.fromisoformat),),
    "fio-json": (
        _line(r'"timestamp_ms" *: *([0-9]{1,16})', _milliseconds),
        _line(r'"timestamp" *: *([0-9]{1,12})', _seconds),
    ),
    "fio-normal": (_line(rf"pid=[0-9]+: ({_CTIME})", ctime),),
    "fs_mark": (_line(rf"starting at ({_CTIME})", ctime),),
    "ior": (
        _BEGAN,
        _line(rf"Began *: ({_CTIME})", ctime),
        _line(rf"StartTime *: ({_CTIME})", ctime),
    ),
    "ior-json": (
        _line(rf'"Began": *"({_CTIME})"', ctime),
        _line(rf'"StartTime": *"({_CTIME})"', ctime),
    ),
    "iozone": (_BEGAN,),
    "iozone-throughput": (_BEGAN,),
    "mdtest": (_line(rf"-- started at ({_SLASHED} [0-9:]{{8}})", _month_first),),
    "vdbench-summary": (
        _line(rf"{_SUMMARY}.*\(([0-9:]{{8}} {_JAVA} UTC)\)", _name_first),
        _line(rf"{_SUMMARY}([0-9:]{{8}} {_JAVA})", _name_first),
    ),
    "vdbench-totals": (_line(rf"^\s*+({_JAVA})\s+\.*[Ii]nterval", _name_first),),
    "vdbench": (_line(rf"^\s*+[0-9.:]++ +({_SLASHED}-[0-9:]{{8}}-\S+) ", _month_first),),
}

NAMED = frozenset(_LINES)
"""The formats that are looked through; that of the Phoronix Test Suite knows its own dates."""


def of_runs(
    format: str, lines: Sequence[str], values: Sequence[ParsedValue]
) -> dict[OwnKey, PrintedDate]:
    """The date of each run: the last before its first number, else the next."""
    kinds = _LINES.get(format, ())
    first: dict[OwnKey, int] = {}
    for value in values if kinds else ():
        key = own_key(value)
        first[key] = min(first.get(key, value.line), value.line)
    waiting = sorted(first.items(), key=lambda pair: pair[1], reverse=True)
    begun: list[OwnKey] = []
    dates: dict[OwnKey, PrintedDate] = {}
    last: tuple[int, _Line, re.Match[str]] | None = None
    for number, line in enumerate(lines if kinds else (), start=1):
        match = None
        for kind in kinds:
            if match := kind.pattern.search(line):
                last = number, kind, match
                break
        while waiting and waiting[-1][1] <= number:
            begun.append(waiting.pop()[0])
        if last is not None and begun and (match or not last[1].is_behind):
            dates |= dict.fromkeys(begun, _date_of_match(*last))
            begun = []
        if not (waiting or begun):
            break
    return dates | (dict.fromkeys(begun, _date_of_match(*last)) if last is not None else {})


def _date_of_match(line: int, kind: _Line, match: re.Match[str]) -> PrintedDate:
    return printed_date(match[0], match[1], line, kind.read)


def printed_date(text: str, date: str, line: int, read: Callable[[str], datetime]) -> PrintedDate:
    """A date as a file has it; ``text`` is the text around it."""
    try:
        at: datetime | None = read(date)
    except (ValueError, OverflowError, OSError):
        at = None
    return PrintedDate(at, text.strip()[:200], line)
