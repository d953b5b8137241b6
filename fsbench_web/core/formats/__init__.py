"""Output of benchmark tools -> ParsedResult. Pure: no Django. A file holds one kind of tools."""

import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice

from fsbench_web.core.formats import (
    agent_lines,
    bonnie,
    commands,
    databases,
    dates,
    diskspd,
    phoronix,
    repeats,
    servers,
    small_files,
    sysbench,
    unsupported,
    wrapped,
)
from fsbench_web.core.formats.fio import logs, normal, report, terse
from fsbench_web.core.formats.fio.naming import NOTHING_BESIDE, Beside
from fsbench_web.core.formats.iozone import biff, log, throughput
from fsbench_web.core.formats.result import (
    NoSureTable,
    ParsedResult,
    ParsedValue,
    Problem,
    UnknownFormat,
    UnreadableFile,
)
from fsbench_web.core.formats.storage import elbencho, ior, mdtest, vdbench
from fsbench_web.core.formats.tables import spreadsheet, table
from fsbench_web.core.formats.tables.mapping import NeedsMapping
from fsbench_web.core.formats.text import (
    MAX_LINE_LENGTH,
    MAX_LINES,
    MAX_LINES_OF_DOCUMENTS,
    MAX_LINES_OF_TABLES,
    MAX_PROBLEMS,
    check_lengths,
    lines_of,
    lines_to_look_at,
    quoted,
    remarks_on,
)
from fsbench_web.core.formats.values import Format

__all__ = [
    "DETAILS",
    "FORMATS",
    "THE_SAME",
    "NoSureTable",
    "ParsedResult",
    "ParsedValue",
    "Problem",
    "UnknownFormat",
    "UnreadableFile",
    "parse",
]


Parse = Callable[[list[str]], ParsedResult]
_HEAD_BYTES = 256 * 1024
_LARGE_BYTES = 4 * 1024 * 1024
# Four bytes a character are the most of UTF-8 and UTF-16.
_MOST_LINE_BYTES = 4 * MAX_LINE_LENGTH
# In the order in which they are tried. fio can print several formats into one file: JSON says most.
_TEXT = (
    *(table.parse, agent_lines.parse, elbencho.parse_csv, elbencho.parse_json, elbencho.parse),
    *(small_files.parse_filemark, phoronix.parse, report.parse, terse.parse, normal.parse),
    *(ior.parse_json, ior.parse_csv, mdtest.parse_ranks, throughput.parse, log.parse),
    *(servers.parse_aim7, small_files.parse_postmark, servers.parse_filebench),
    *(
        sysbench.parse_fileio,
        sysbench.parse,
        mdtest.parse,
        ior.parse,
        ior.parse_io500,
        diskspd.parse,
    ),
    *(diskspd.parse_crystaldiskmark, servers.parse_dbench, small_files.parse_fs_mark),
    *(vdbench.parse_flat, vdbench.parse_summary, vdbench.parse_totals, databases.parse_pgbench),
    *(databases.parse_db_bench, commands.parse_compilebench, commands.parse_ioping),
    *(commands.parse_hdparm, commands.parse_dd, bonnie.parse),
    *(phoronix.parse_csv, table.parse_wide),
)

FORMATS = (*(text_format.name for text_format in _TEXT), logs.FORMAT, biff.FORMAT)
"""The names of all formats, as ParsedResult.format gives them."""


THE_SAME = (vdbench.parse_flat.name, vdbench.parse_summary.name, vdbench.parse_totals.name)
"""Files of one tool with the same numbers, the one that says most first.
"""

DETAILS = {
    logs.FORMAT: (report.parse.name, terse.parse.name, normal.parse.name),
    mdtest.parse_ranks.name: (mdtest.parse.name,),
}
"""Files with details of another file's result, and the formats of that result."""


# fio says the same several times, and IOzone's parsers tell its modes apart themselves.
_OF_FIO = (report.parse, terse.parse, normal.parse)
_FAMILIES = (_OF_FIO, (log.parse, throughput.parse))
_TABLES = (table.parse, table.parse_wide)
_JSON = (report.parse, elbencho.parse_json, ior.parse_json)
_KEY = re.compile(r'\s*+(?:"[^"]*" ?:|[]{}]+,?$)')
_ROUNDED = 0.01
_FAILURE = re.compile(
    r"\W{0,8}(?:[\w.-]{1,40}: )?(?:(?:FATAL|fatal)\b|fio: (?:io_u error|pid=[0-9]+, err=[1-9]))|"
    r".*(?:No space left on device|Input/output error|Read-only file system|Disk quota exceeded|"
    r"Cannot allocate memory|Segmentation fault|Stale file handle)"
)


def _other_formats(
    text_format: Format, result: ParsedResult, lines: list[str], head: list[str]
) -> list[str]:
    """Further formats in a file, such as a log of several tools; their numbers are not read."""
    family = next((formats for formats in _FAMILIES if text_format in formats), (text_format,))
    # A document of thousands of keys has no line of a tool that prints lines.
    plain = [line for line in head if not _KEY.match(line)] if text_format in _JSON else head
    return [
        other.name
        for other in _TEXT
        if other not in (text_format, table.parse_wide)
        and other.recognises(head if other in _JSON else plain)
        and (other not in family or _has_other_rates(other, result, lines))
    ]


def _has_other_rates(other: Format, result: ParsedResult, lines: list[str]) -> bool:
    """Whether another fio output in the file has a rate that the result lacks: another run."""
    if result.tool != "fio":
        return False
    try:
        others = other(lines)
    except UnreadableFile:
        return False
    rates, further = _rates(result), _rates(others)
    return any(
        all(abs(rate - known_rate) > _ROUNDED * known_rate for known_rate in rates[direction])
        for direction, further_rates in further.items()
        for rate in further_rates
    )


def _rates(result: ParsedResult) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = defaultdict(list)
    for value in result.values:
        if value.test.endswith("_bw"):
            rates[value.test.rsplit("_", 2)[-2]].append(value.value)
    return rates


def _most_lines(data: bytes) -> int:
    """The most lines of a text, by its beginning: documents and tables may have more.

    Raises UnreadableFile for a large table with an endless line, which is never decoded.
    """
    if len(data) <= _LARGE_BYTES and data.count(b"\n") <= MAX_LINES:
        return MAX_LINES
    head = data[:_HEAD_BYTES]
    text = head[: head.rfind(b"\n") + 1].decode("utf-8", "replace")
    text_format = _format_of(lines_to_look_at(text.split("\n")))
    if text_format is None:
        return MAX_LINES
    if text_format in _TABLES:
        if (begin := _endless_line(data)) is not None:
            line = data.count(b"\n", 0, begin) + 1
            message = f"The line is longer than {MAX_LINE_LENGTH} characters."
            raise UnreadableFile([Problem(line, MAX_LINE_LENGTH + 1, message)])
        return MAX_LINES_OF_TABLES
    return MAX_LINES_OF_DOCUMENTS if text_format.has_long_lines else MAX_LINES


def _endless_line(data: bytes) -> int | None:
    """Where the first line of more than _MOST_LINE_BYTES begins. Looks at a byte twice at most."""
    begin = 0
    while begin + _MOST_LINE_BYTES < len(data):
        most = begin + _MOST_LINE_BYTES + 1
        end = max(data.rfind(b"\n", begin, most), data.rfind(b"\r", begin, most))
        if end < 0:
            return begin
        begin = end + 1
    return None


def _with_losses(read: Parse, lines: list[str]) -> ParsedResult:
    """Read the lines, and warn of values that are lost to NaN, infinity, a minus or a tag.

    The lines are read again with numbers in these places. Tables refuse such words themselves.
    """
    result = read(lines)
    if result.tool == "table" or (changed := unsupported.with_numbers(lines)) is None:
        return result
    with suppress(UnreadableFile):
        result.warnings += unsupported.lost_values(result, read(changed[0]), changed[1])
    return result


def _note_failures(result: ParsedResult, lines: list[str]) -> None:
    """Warn of lines in which a tool says that it failed, where its format has not."""
    known = {warning.line for warning in result.warnings}
    new = [failure for failure in _failures(result.tool, lines) if failure.line not in known]
    if new:
        result.complete = False
    result.warnings += new


def _failures(tool: str, lines: list[str]) -> list[Problem]:
    numbers = (n for n, line in enumerate(lines, start=1) if _FAILURE.match(line[:200]))
    return [
        Problem(number, None, f"{tool} says {quoted(lines[number - 1], 200)}.")
        for number in islice(numbers, MAX_PROBLEMS)
    ]


def _format_of(head: list[str]) -> Format | None:
    return next((candidate for candidate in _TEXT if candidate.recognises(head)), None)


def parse(
    name: str, data: bytes, beside: Beside = NOTHING_BESIDE, *, by_job: bool = False
) -> ParsedResult:
    """Read a file. Raises UnreadableFile with everything that is wrong.

    ``name`` is for messages, and says of what a fio log is. ``beside``: what other files say of
    fio's jobs. ``by_job``: tests of fio's JSON are named after jobs.
    """
    if biff.recognises(data):
        return biff.parse(data)
    if spreadsheet.recognises(data):
        return spreadsheet.parse(data)
    if reason := unsupported.packed_problem(data):
        raise UnreadableFile([Problem(None, None, reason)])
    lines = lines_of(data, _most_lines(data))
    lines, decoded = wrapped.from_quoted_printable(lines)
    head = lines_to_look_at(lines)
    if logs.is_named(name) and (logs.recognises(head) or logs.recognises_histogram(head)):
        return _with_losses(lambda text_lines: logs.parse(name, text_lines, beside), lines)
    text_format = _format_of(head)
    lines, text_format, taken_off = _unwrapped(lines, text_format)
    if text_format is None or not text_format.has_long_lines:
        check_lengths(lines, text_format.long_line if text_format is not None else "")
    if text_format is None:
        raise _refusal(name, lines)
    read: Parse = text_format
    if text_format is report.parse:
        read = partial(report.parse, beside=beside, by_job=by_job)
    elif text_format in _OF_FIO:
        read = partial(text_format, beside=beside)
    result = _read(text_format, read, lines)
    for remark in (*remarks_on(data), *decoded, *taken_off):
        result.warnings.append(Problem(None, None, remark, is_note=True))
    return result


def _unwrapped(
    lines: list[str], text_format: Format | None
) -> tuple[list[str], Format | None, list[str]]:
    """The lines without what mail, terminals and CI put around them, their format, and remarks."""
    best, most = (lines, text_format, list[str]()), -2
    for plain, remarks in wrapped.layers(lines):
        plain_format = _format_of(lines_to_look_at(plain))
        if plain_format is None or (text_format is not None and plain_format in _TABLES):
            continue
        if most == -2 and text_format is not None and text_format not in _TABLES:
            most = _count(text_format, lines)
        if (count := _count(plain_format, plain)) >= most:
            best, most = (plain, plain_format, remarks), count
    return best


def _count(text_format: Format, lines: list[str]) -> int:
    """How many values a format finds; -1 where it refuses the lines."""
    try:
        return text_format(lines).count
    except UnreadableFile:
        return -1


def _read(text_format: Format, read: Parse, lines: list[str]) -> ParsedResult:
    """What the output of a tool or a table holds. Raises UnreadableFile."""
    try:
        result = _with_losses(read, lines)
    except UnreadableFile as error:
        if text_format is table.parse or isinstance(error, NeedsMapping):
            raise
        if text_format is table.parse_wide:
            raise NoSureTable(error.problems, error.units) from None
        failures = _failures("The tool", lines)
        raise UnreadableFile([*failures, *error.problems], error.units) from None
    if result.tool == "table":
        return result
    _note_failures(result, lines)
    result.dates |= dates.of_runs(result.format, lines, result.values)
    repeats.check_repeats(result, lines)
    result.doubts = repeats.doubts(result, lines)
    result.warnings[:0] = [
        Problem(
            None,
            None,
            f"The file looks like output of {other} too. Only what is {text_format.name} was "
            "read: make the rest a file of its own.",
        )
        for other in _other_formats(text_format, result, lines, lines_to_look_at(lines))
    ]
    return result


def _refusal(name: str, lines: list[str]) -> UnreadableFile:
    head = lines_to_look_at(lines)
    if unsupported.is_beside(head):
        message = (
            "This is a report that Vdbench writes next to its results: fsbench reads "
            "flatfile.html, summary.html and totals.html."
        )
        return UnknownFormat([Problem(1, None, message)])
    if (refusal := unsupported.text_problem(head)) is not None:
        return UnreadableFile([Problem(refusal[0], None, refusal[1])])
    if unsupported.is_json(head):
        message = (
            f"{name} is JSON, and not of a tool that fsbench reads. Write its numbers as a table "
            'with a header row, or a line {"fsbench": "TEST", "value": 1, "unit": "MB/s"} for each.'
        )
        return UnknownFormat([Problem(1, None, message)])
    if unsupported.is_html(head):
        message = (
            f"{name} is HTML, and fsbench reads no tables of HTML. "
            "Copy the table into a spreadsheet, or save it as CSV."
        )
        return UnknownFormat([Problem(1, None, message, code="html")])
    if (unmapped := table.unmapped(head)) is not None:
        return unmapped
    first = next(line for line in lines if line.strip())
    return UnknownFormat(
        [
            Problem(
                1,
                None,
                f"{name} starts with {quoted(first)} and is not the output of a tool that fsbench "
                "reads (the import page and /guide/formats/ name them), nor a table. A table has a "
                "header row with the columns test, record_size_kb, file_size_kb, value and unit, "
                "separated by commas, semicolons or tabs.",
            )
        ]
    )
