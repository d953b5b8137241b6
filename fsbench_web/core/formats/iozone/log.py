"""The text that IOzone prints: banner, settings, the matrix, and the report of -R at its end.

Known from IOzone 3.226 to 3.508. Module ``tables`` says which column a value is of. IOzone prints 0
for a cell that it did not run, and for less than one unit. Source of its options: iozone(1), and
what 3.489 prints of itself for each.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fsbench_web.core.formats.iozone.tables import (
    MISSING,
    SIZE_WIDTH,
    TESTS,
    Cell,
    Column,
    column_of,
    is_report_title,
    parse_header,
    parse_report,
)
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.text import cut_off, quoted
from fsbench_web.core.formats.values import Collector, any_line, reads

_BANNER = "Iozone: Performance Test of File I/O"
_VERSION = re.compile(r"Version \$Revision: ([0-9][0-9.]*)")
_COMMAND = re.compile(r"Command line used: .")
_UNIT = re.compile(r"Output is in (?=[A-Za-z /%]{1,80}+\.?\s*$)([A-Za-z /%]{1,80}?)(?<!\s)\.?\s*$")
_DEFAULT_UNIT = "KB/s"
_UNITS = {
    "kbytes/sec": "KB/s",
    "operations per second": "ops/s",
    "microseconds per operation": "µs",
}
_HEADER = re.compile(r"^\s*KB\s+reclen\s+\S", re.IGNORECASE)
_ROW = re.compile(r"^\s*([0-9]{1,12})\s+([0-9]{1,9})(?![0-9])")
_NO_RATE = re.compile(r"[+-][0-9].*|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_TOKEN = re.compile(r"\S+")
COMPLETE = "iozone test complete."
_INVALID = "Performance measurements are invalid in this mode"
# What IOzone says of cells that were too short, and goes on.
_REMARK = re.compile(
    r"The test completed too quickly|You will get a more precise|performance by re-running|"
    r"iozone [0-9]+\s+\(i\.e\., file size"
)
# -M: uname(2) of the machine, its system, name and release first.
_MACHINE = re.compile(r"Machine = Linux \S+ ([0-9][A-Za-z0-9.+~_-]{0,199})(?:\s|$)")
_NO_SETTING = (
    *("Compiled", "Contributors", "Build", "Run began", "Command line", "Version"),
    "Machine =",  # -M: host and kernel
)
# Settings that say what was measured, not how: they do not make two runs different.
_SIZES_ONLY = re.compile(
    r"Auto Mode|Cross over of record size|Using [Mm](in|ax)imum|File size set to|Record Size|"
    r"Excel chart generation|CPU utilization|OPS Mode|Microseconds/op Mode|"
    r"Setting .{0,80}priority|Selected test not available"
)
# A command's choice of tests; iozone(1) names them so.
_CHOSEN = re.compile(r"\s-[A-Za-z]*i ?([0-9]{1,2})(?![0-9])")
_TESTS_OF = {
    0: ("write", "rewrite"),
    1: ("read", "reread"),
    2: ("random_read", "random_write"),
    3: ("backward_read",),
    4: ("record_rewrite",),
    5: ("stride_read",),
    6: ("fwrite", "refwrite"),
    7: ("fread", "refread"),
}
_OTHER_NAMES = (
    "These columns are not IOzone's in IOzone's order, so which test each is cannot be known. "
    "Upload the text as IOzone printed it."
)
_LATE_MATRIX = (
    "A matrix starts here, below a report (-R), and no line says that IOzone was started again: "
    "make each run a file of its own."
)
_OTHER_SETTINGS = (
    "A second IOzone run starts here, and it had other settings ({}) than the first ({}): they are "
    "no repeats of each other. Make each a file of its own."
)

# The options of iozone that take an argument; of the others several may stand in one word.
_WITH_ARGUMENT = "rstfFdluUSLHkVPjJibXYgnyqQ"
_MAY_DIFFER = frozenset(
    {
        # What is measured, which the numbers themselves say: tests, sizes, load, unit.
        *("i", "a", "A", "z", "s", "r", "n", "g", "y", "q", "t", "l", "u", "T", "O", "N"),
        # Files, hosts, and what is printed or written beside the results.
        *("f", "F", "b", "R", "v", "h", "C", "M", "+u", "+m", "+h", "+t", "+T"),
    }
)
_SAID = {
    "I": "O_DIRECT feature enabled",
    "e": "Include fsync in write timing",
    "c": "Include close in write timing",
    "o": "SYNC Mode.",
    "p": "Purge Mode On",
    "B": "Using mmap files",
    "D": "Using msync(MS_ASYNC) on mmap files",
    "G": "Using msync(MS_SYNC) on mmap files",
    "Z": "Enable mmap & file I/O mixing.",
    "K": "Disrupted read patterns selected.",
    "W": "Lock file when reading/writing.",
    "w": "Setting no_unlink",
    "x": "Stonewall disabled",
    "Q": "Offset/latency files enabled.",
    "H": "POSIX async I/O (with bcopy). Depth {}",
    "k": "POSIX Async I/O (no bcopy). Depth {}",
    "P": "Binding of processors beginning with {}",
    "+n": "No retest option selected",
    "+r": "Read & Write sync mode active.",
    "+D": ">>> O_DSYNC mode enabled. <<<",
    "+B": ">>> Sequential Mixed workload. <<<",
    "+A": "Madvise enabled: {}",
    "+w": "Dedup activated {} percent.",
}
"""What the head of IOzone's text says of an option."""
_SAID_OTHERWISE = frozenset({"m", "V", "+d", "+Z"})


def options_of(command: str) -> dict[str, str]:
    """The options of a command line by letter, "+x" of -+x, with their arguments or ""."""
    options: dict[str, str] = {}
    words = command.split()[1:]
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word.startswith("-+"):
            is_value = index < len(words) and not words[index].startswith("-")
            options[word[1:3]] = word[3:] or (words[index] if is_value else "")
            continue
        for place, letter in enumerate(word[1:] if word.startswith("-") else "", start=1):
            if letter not in _WITH_ARGUMENT:
                options[letter] = ""
                continue
            rest = word[place + 1 :]
            if not rest and index < len(words):
                rest = words[index]
                index += 1
            options[letter] = rest
            break
    return options


def settings_of(command: str, *, has_head: bool) -> tuple[str, ...]:
    """The settings of a command in the words of IOzone's head; ``has_head``: only the others."""
    return tuple(
        sorted(
            # -U, -X and -Y take a path, which may differ.
            _SAID[name].format(value)
            if name in _SAID
            else f"-{name} {'' if '/' in value else value}".strip()[:200]
            for name, value in options_of(command).items()
            if name not in _MAY_DIFFER
            and not (has_head and (name in _SAID or name in _SAID_OTHERWISE))
        )
    )


def is_banner(line: str) -> bool:
    """Whether a run of IOzone starts here; a paste may have other blanks."""
    return " ".join(line.split()) == _BANNER


def is_matrix_header(line: str) -> bool:
    return _HEADER.match(line) is not None


@dataclass
class Head:
    """What IOzone says before it measures; ``unit`` is "" where it says none.

    ``tests`` are those that a command names with -i, in the order of their columns.
    """

    result: ParsedResult
    unit: str = ""
    tests: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    has_begun: bool = False


@dataclass
class _Reading:
    """The matrix of a run, as far as it is read; ``cells`` have their number and line."""

    collector: Collector
    head: Head
    unit: str
    columns: list[Column] = field(default_factory=list)
    complete: bool = False
    failed: bool = False
    cells: dict[Cell, tuple[int, int]] = field(default_factory=dict)


@reads("iozone", "iozone", any_line(is_banner, _HEADER.match, is_report_title))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Read all cells of the matrix, or of the -R report where there is no matrix.

    Several runs are repeats, or parts of one run where they measured different cells.
    """
    starts = [index for index, line in enumerate(lines) if is_banner(line)][1:]
    result, first = collector.result, None
    for start, end in zip([0, *starts], [*starts, len(lines)], strict=True):
        collector.lines_before = start
        collector.begin()
        had = len(collector.problems)
        head = _one_run(collector, lines[start:end]).result
        if first is None:
            first = head.modes
            result.tool_version, result.command = head.tool_version, head.command
            result.facts = head.facts
        elif head.modes != first and len(collector.problems) == had:
            modes = ["; ".join(compared) or "none" for compared in (head.modes, first)]
            collector.refuse(1, _OTHER_SETTINGS.format(*modes))
        kernels = dict.fromkeys((*result.printed_kernels, *head.printed_kernels))
        result.printed_kernels = tuple(kernels)
        if collector.must_stop:
            break
    result.modes = first or ()
    return collector.finish("IOzone measured nothing.", len(lines))


def _one_run(collector: Collector, lines: list[str]) -> Head:
    report_at = next((n for n, line in enumerate(lines) if _is_report(line)), len(lines))
    headers = (n for n, line in enumerate(lines[:report_at]) if _HEADER.match(line))
    matrix_at = next(headers, report_at)
    had = collector.count, len(collector.problems)
    head = read_head(collector, lines[:matrix_at])
    reading = _Reading(collector, head, head.unit or _DEFAULT_UNIT)
    for index in range(matrix_at, report_at):
        _matrix_line(reading, lines, index)
        if collector.must_stop:
            return head
    if not head.unit:
        message = "The file does not say its unit; KB/s is taken, which is IOzone's default."
        collector.warn(1, message, is_note=True)
    for number, line in enumerate(lines[report_at:], start=report_at + 1):
        if _HEADER.match(line):
            collector.refuse(number, _LATE_MATRIX)
    has_matrix = any(value for value, _ in reading.cells.values())
    report, is_complete = parse_report(collector, lines, report_at)
    if has_matrix:
        _compare(reading, report)
        is_complete = reading.complete
        if not is_complete:
            message = "The file ends before IOzone did. What it holds is read; the rest is missing."
            collector.warn(len(lines), message)
    else:
        for (test, record_kb, file_kb), text, number in report:
            collector.sizes = record_kb, file_kb
            if int(text) == 0:
                message = f"{test} of {record_kb} KB records in {file_kb} KB files: {MISSING}"
                collector.warn(number, message, is_note=True)
            else:
                collector.add(test, text, reading.unit, number)
    if not is_complete or reading.failed:
        collector.result.complete = False
    if had == (collector.count, len(collector.problems)):
        _refuse_nothing(collector, lines)
    return head


def _is_report(line: str) -> bool:
    return is_report_title(line) or line.startswith("Excel output is below")


def read_head(collector: Collector, lines: list[str]) -> Head:
    """What the lines above the first number say."""
    head = Head(ParsedResult("iozone", "iozone"))
    for number, line in enumerate(lines, start=1):
        _settings_line(collector, head, line, number)
    # Whatever else IOzone was told (O_DIRECT, fsync in the times, ...) changes what is measured.
    texts = [
        text for text in head.settings if not _SIZES_ONLY.search(text) and not _UNIT.search(text)
    ]
    settings = (*texts, *settings_of(head.result.command, has_head=True))
    head.result.modes = tuple(dict.fromkeys(settings))
    return head


def _settings_line(collector: Collector, head: Head, line: str, number: int) -> None:
    result = head.result
    text = " ".join(line.split())
    if (version := _VERSION.search(text)) is not None:
        result.tool_version = version[1]
    if not text or line.startswith("\t ") or text == _BANNER:
        return
    if version is not None:
        pass
    elif _COMMAND.search(text):
        result.command = line.partition(":")[2].strip()
    elif text.startswith("Run began:"):
        result.facts.append(("Run began", text.removeprefix("Run began:").strip()))
        head.settings.clear()
        head.has_begun = True
    elif (machine := _MACHINE.match(text)) is not None:
        result.printed_kernels = (machine[1],)
    elif text.startswith("Build:"):
        result.facts.append(("Build", text.removeprefix("Build:").strip()))
    elif _INVALID in text:
        message = f"IOzone says {quoted(text)} (-+d): there is nothing to keep."
        collector.refuse(number, message)
    head.tests = _chosen_tests(text) or head.tests
    if (match := _UNIT.search(text)) is not None:
        unit = _UNITS.get(match[1].strip().lower())
        if unit is None:
            expected = "kBytes/sec, operations per second or microseconds per operation"
            message = f"Output is in {quoted(match[1])}; {expected} can be read."
            collector.refuse(number, message)
        head.unit = unit or head.unit
    # IOzone indents its settings, other lines are the terminal's. A paste may have lost the blanks.
    is_said = line[0].isspace() or head.has_begun
    if is_said and not result.command and not text.startswith(_NO_SETTING):
        head.settings.append(text)


def _chosen_tests(text: str) -> list[str]:
    """The tests that a command of IOzone names with -i, in the order of their columns."""
    if "iozone" not in text.lower():
        return []
    tests = {test for choice in _CHOSEN.findall(text) for test in _TESTS_OF.get(int(choice), ())}
    return [test for test in TESTS if test in tests]


def _matrix_line(reading: _Reading, lines: list[str], index: int) -> None:
    line, number = lines[index].expandtabs(8), index + 1
    if _HEADER.match(line):
        line_above = lines[index - 1].expandtabs(8) if index else ""
        columns, unknown = parse_header(line_above, line)
        if columns is None:
            reading.collector.refuse(number, _OTHER_NAMES)
        reading.columns = columns or []
        for name, column in unknown:
            message = f'Column "{name}" is not known and is left out.'
            reading.collector.warn(number, message, column)
        return
    text = line.strip()
    if not text or not reading.columns:
        return
    if " ".join(text.split()) == COMPLETE:
        reading.complete = True
    elif (row := _ROW.match(line)) is not None:
        _row(reading, line, number, row, is_last=index == len(lines) - 1)
    else:
        reading.failed = reading.failed or not (reading.complete or _REMARK.match(text))
        reading.collector.warn(number, f"IOzone says {quoted(text, 200)}.")


def _row(reading: _Reading, line: str, number: int, row: re.Match[str], *, is_last: bool) -> None:
    file_kb, record_kb = int(row[1]), int(row[2])
    # Places count from the end of the record size: a paste may have lost what is left of it.
    text, before = line[row.end() :], row.end()
    columns = reading.columns
    has_its_blanks = row.end(2) - row.end(1) == SIZE_WIDTH and all(c.width for c in columns)
    numbers = _numbers(reading, _tokens(columns if has_its_blanks else [], text), number, before)
    if not numbers:
        return
    if not (file_kb and record_kb):
        message = f"A size of 0 KB in {quoted(line)}: sizes are 1 KB or more."
        reading.collector.refuse(number, message, 1)
        return
    places: Iterable[int | None]
    tests = [column.test for column in columns]
    if len(numbers) == len(columns):
        places = range(len(columns))
    elif has_its_blanks:
        places = _places(columns, numbers)
    elif len(numbers) == len(reading.head.tests) and {*reading.head.tests} <= {*tests}:
        places = map(tests.index, reading.head.tests)
    else:
        reading.collector.refuse(
            number,
            f"{len(numbers)} values stand under {len(columns)} columns, and the blanks that say "
            "which columns are empty are lost. Upload the text as IOzone printed it.",
            before + numbers[0].start() + 1,
        )
        return
    for place, token in zip(places, numbers, strict=False):
        column = before + token.start() + 1
        # A file that ends right behind a digit may be cut within the number. It is not where
        # the number has room to its left and ends where the column's values do.
        at_end = is_last and token.end() == len(text)
        if at_end and not (place is not None and _is_whole(columns[place], token)):
            reading.collector.warn(number, cut_off(token[0]), column)
            return
        if place is None:
            reading.collector.refuse(
                number,
                f"{quoted(token[0])} stands under no column of the header. Upload the text as "
                "IOzone printed it, with its spaces.",
                column,
            )
            return
        if tests[place]:
            _cell(reading, (tests[place], record_kb, file_kb), token[0], number, column)


def _numbers(
    reading: _Reading, tokens: Iterable[re.Match[str]], number: int, before: int
) -> list[re.Match[str]]:
    """The values of a row, up to what IOzone says there; none where the row is refused."""
    numbers: list[re.Match[str]] = []
    for token in tokens:
        column = before + token.start() + 1
        if _NO_RATE.fullmatch(token[0]):
            message = f"{quoted(token[0])} stands among the values, and no rate or time is that."
            reading.collector.refuse(number, message, column)
            return []
        if token[0][0].isdigit() and not re.fullmatch("[0-9]+", token[0]):
            # What IOzone says in a row begins with a word.
            reading.collector.refuse(
                number,
                f"{quoted(token[0])} stands among the values and is not a number: the file was "
                "changed. Upload it as IOzone printed it.",
                column,
            )
            return []
        if not re.fullmatch("[0-9]{1,15}", token[0]):
            reading.failed = True
            rest = token.string[token.start() :]
            reading.collector.warn(number, f"IOzone says {quoted(rest, 200)}.", column)
            break
        numbers.append(token)
    return numbers


def _places(columns: list[Column], tokens: list[re.Match[str]]) -> Iterator[int | None]:
    """The index of the column that each value stands under; None, at last, for one under none."""
    shift, place = 0, -1
    for token in tokens:
        under, shift = column_of(columns, token.start(), token.end(), shift, place)
        yield under
        if under is None:
            return
        place = under


def _tokens(columns: list[Column], text: str) -> Iterator[re.Match[str]]:
    """What stands between blanks, and of numbers that touch each.

    A value that fills its column, from 100,000,000 on, has no blank before it.
    """
    ends = {column.end for column in columns}
    begins = sorted(column.end - column.width for column in columns)
    for token in _TOKEN.finditer(text):
        edges = [token.start()]
        if token[0].isdigit() and token.end() in ends:
            edges += [begin for begin in begins if token.start() < begin < token.end()]
        for left, right in pairwise([*edges, token.end()]):
            if (piece := _TOKEN.match(text, left, right)) is not None:
                yield piece


def _is_whole(column: Column, token: re.Match[str]) -> bool:
    has_room = token.end() - token.start() + 1 < column.width
    return token.end() == column.end and has_room


def _cell(reading: _Reading, key: Cell, text: str, line: int, column: int) -> None:
    test, record_kb, file_kb = key
    if key in reading.cells:
        reading.collector.refuse(
            line,
            f"{test} of {record_kb} KB records in {file_kb} KB files was already given in line "
            f"{reading.cells[key][1] + reading.collector.lines_before}.",
            column,
        )
        return
    reading.cells[key] = int(text), line
    if int(text) == 0:
        reading.collector.warn(line, f"{test}: {MISSING}", column, is_note=True)
        return
    reading.collector.sizes = record_kb, file_kb
    reading.collector.add(test, text, reading.unit, line)


def _compare(reading: _Reading, report: Sequence[tuple[Cell, str, int]]) -> None:
    """The matrix and the report of -R are the same numbers twice; say where they are not."""
    for key, text, line in report:
        value, matrix_line = reading.cells.get(key, (0, 0))
        if value and int(text) and value != int(text):
            test, record_kb, file_kb = key
            reading.collector.refuse(
                line,
                f"The report says {int(text)} for {test} of {record_kb} KB records in {file_kb} KB "
                f"files, the matrix in line {matrix_line + reading.collector.lines_before} says "
                f"{value}: the file was changed.",
            )


def _refuse_nothing(collector: Collector, lines: list[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if _HEADER.match(line):
            following = next((text.strip() for text in lines[number + 1 :] if text.strip()), "")
            more = f" IOzone says {quoted(following, 200)}." if following else ""
            collector.refuse(number, f"No value follows the header of the matrix.{more}")
            return
    message = "IOzone's banner is there, but no matrix follows: the run did not start."
    collector.refuse(len(lines), message)
