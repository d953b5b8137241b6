"""The text that IOzone prints: banner, settings, the matrix, and the report of -R at its end.

Known from IOzone 3.226 to 3.508. Module ``tables`` says which column a value is of. IOzone prints 0
for a cell that it did not run, and for less than one unit. Source of its options: iozone(1), and
what 3.489 prints of itself for each.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fsbench_web.core.formats.iozone.tables import (
    MISSING,
    SIZE_WIDTH,
    TESTS,
    Column,
    column_of,
    is_report_title,
    parse_header,
    parse_report,
)
from fsbench_web.core.formats.result import (
    MAX_VALUES,
    ParsedResult,
    ParsedValue,
    Problem,
    UnreadableFile,
    too_many_values,
)
from fsbench_web.core.formats.text import (
    ENOUGH_PROBLEMS,
    beyond_measure,
    capped,
    cut_off,
    quoted,
)
from fsbench_web.core.formats.values import Collector, any_line, numbered_repeats, reads
from fsbench_web.core.units import most_measurable

_FORMAT = "iozone"
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
    """Whether the line is the header of a matrix."""
    return _HEADER.match(line) is not None


@dataclass
class _Reading:
    """What has been read so far."""

    result: ParsedResult
    problems: list[Problem] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)  # that a command names with -i, in their order
    unit: str = ""
    complete: bool = False
    failed: bool = False
    has_begun: bool = False
    cells: dict[tuple[str, int, int], int] = field(default_factory=dict)

    @property
    def is_too_much(self) -> bool:
        """No matrix of IOzone comes near: a file that does is stopped before it fills memory."""
        count = len(self.result.values) + len(self.result.warnings)
        return count > MAX_VALUES or len(self.problems) >= ENOUGH_PROBLEMS

    def warn(self, line: int, column: int | None, message: str) -> None:
        self.result.warnings.append(Problem(line, column, message))

    def refuse(self, line: int, column: int | None, message: str) -> None:
        self.problems.append(Problem(line, column, message))


@reads(_FORMAT, "iozone", any_line(is_banner, _HEADER.match, is_report_title))
def parse(lines: list[str], _: Collector) -> ParsedResult:
    """Read all cells of the matrix, or of the -R report where there is no matrix.

    Several runs are repeats, or parts of one run where they measured different cells.
    """
    starts = [index for index, line in enumerate(lines) if is_banner(line)]
    if len(starts) < 2:
        return _one_run(lines)
    result: ParsedResult | None = None
    problems: list[Problem] = []
    runs: list[list[ParsedValue]] = []
    count = 0
    for start, end in zip([0, *starts[1:]], [*starts[1:], len(lines)], strict=True):
        try:
            run = _one_run(lines[start:end])
        except UnreadableFile as error:
            problems += [_shifted(problem, start) for problem in error.problems]
        else:
            if result is None:
                result = replace(run, values=[], warnings=[])
            elif run.modes != result.modes:
                modes = ["; ".join(compared.modes) or "none" for compared in (run, result)]
                problems.append(Problem(start + 1, None, _OTHER_SETTINGS.format(*modes)))
            kernels = dict.fromkeys((*result.printed_kernels, *run.printed_kernels))
            result.printed_kernels = tuple(kernels)
            runs.append([replace(value, line=value.line + start) for value in run.values])
            result.warnings += [_shifted(problem, start) for problem in run.warnings]
            result.complete = result.complete and run.complete
            count += len(run.values) + len(run.warnings)
        if count > MAX_VALUES:
            problems.append(too_many_values(end))
        if count > MAX_VALUES or len(problems) >= ENOUGH_PROBLEMS:
            break
    if problems or result is None:
        raise UnreadableFile(capped(problems))
    result.values = numbered_repeats(runs)
    return result


def _shifted(problem: Problem, lines: int) -> Problem:
    return replace(problem, line=problem.line + lines if problem.line else None)


def _one_run(lines: list[str]) -> ParsedResult:
    reading = _Reading(ParsedResult(_FORMAT, "iozone"))
    settings: list[str] = []
    report_at = len(lines)
    for index, line in enumerate(lines):
        number = index + 1
        if is_report_title(line) or line.startswith("Excel output is below"):
            report_at = index
            break
        if reading.columns or _HEADER.match(line):
            _matrix_line(reading, lines, index)
        else:
            _settings_line(reading, settings, line, number)
        if reading.is_too_much:
            raise UnreadableFile(capped(reading.problems or [too_many_values(number)]))
    _name_modes(reading.result, settings)
    result = reading.result
    if not reading.unit:
        reading.unit = _DEFAULT_UNIT
        message = "The file does not say its unit; KB/s is taken, which is IOzone's default."
        result.warnings.append(Problem(1, None, message, is_note=True))
    for number, line in enumerate(lines[report_at:], start=report_at + 1):
        if _HEADER.match(line):
            reading.refuse(number, None, _LATE_MATRIX)
    values, report_complete = parse_report(
        lines, report_at, reading.unit, reading.problems, [] if result.values else result.warnings
    )
    if result.values:
        _compare(reading, values)
        result.complete = reading.complete and not reading.failed
        if not reading.complete:
            reading.warn(
                len(lines),
                None,
                "The file ends before IOzone did. What it holds is read; the rest is missing.",
            )
    else:
        result.values = values
        result.complete = report_complete and not reading.failed
    result.values = [value for value in result.values if _is_measurable(reading, value)]
    if not result.values and not reading.problems:
        reading.problems.append(_no_values(lines))
    if reading.problems:
        raise UnreadableFile(capped(reading.problems))
    return result


def read_head(lines: list[str]) -> tuple[ParsedResult, str, list[Problem]]:
    """What IOzone says before it measures, its unit or "", and problems."""
    reading = _Reading(ParsedResult(_FORMAT, "iozone"))
    settings: list[str] = []
    for number, line in enumerate(lines, start=1):
        _settings_line(reading, settings, line, number)
    _name_modes(reading.result, settings)
    return reading.result, reading.unit, reading.problems


def _settings_line(reading: _Reading, settings: list[str], line: str, number: int) -> None:
    text = " ".join(line.split())
    if not text or line.startswith("\t ") or text == _BANNER:
        if (version := _VERSION.search(text)) is not None:
            reading.result.tool_version = version[1]
        return
    if (version := _VERSION.search(text)) is not None:
        reading.result.tool_version = version[1]
    elif _COMMAND.search(text):
        reading.result.command = line.partition(":")[2].strip()
    elif text.startswith("Run began:"):
        reading.result.facts.append(("Run began", text.removeprefix("Run began:").strip()))
        settings.clear()
        reading.has_begun = True
    elif (machine := _MACHINE.match(text)) is not None:
        reading.result.printed_kernels = (machine[1],)
    elif text.startswith("Build:"):
        reading.result.facts.append(("Build", text.removeprefix("Build:").strip()))
    elif _INVALID in text:
        reading.refuse(number, None, f"IOzone says {quoted(text)} (-+d): there is nothing to keep.")
    reading.tests = _chosen_tests(text) or reading.tests
    if (match := _UNIT.search(text)) is not None:
        unit = _UNITS.get(match[1].strip().lower())
        if unit is None:
            expected = "kBytes/sec, operations per second or microseconds per operation"
            reading.refuse(
                number, None, f"Output is in {quoted(match[1])}; {expected} can be read."
            )
        else:
            reading.unit = unit
    # IOzone indents its settings, other lines are the terminal's. A paste may have lost the blanks.
    is_said = line[0].isspace() or reading.has_begun
    if is_said and not reading.result.command and not text.startswith(_NO_SETTING):
        settings.append(text)


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
            reading.refuse(number, None, _OTHER_NAMES)
        reading.columns = columns or []
        for name, column in unknown:
            reading.warn(number, column, f'Column "{name}" is not known and is left out.')
        return
    text = line.strip()
    if not text:
        return
    if " ".join(text.split()) == COMPLETE:
        reading.complete = True
    elif (row := _ROW.match(line)) is not None:
        _row(reading, line, number, row, is_last=index == len(lines) - 1)
    else:
        reading.failed = reading.failed or not (reading.complete or _REMARK.match(text))
        reading.warn(number, None, f"IOzone says {quoted(text, 200)}.")


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
        reading.refuse(number, 1, f"A size of 0 KB in {quoted(line)}: sizes are 1 KB or more.")
        return
    places: Iterable[int | None]
    tests = [column.test for column in columns]
    if len(numbers) == len(columns):
        places = range(len(columns))
    elif has_its_blanks:
        places = _places(columns, numbers)
    elif len(numbers) == len(reading.tests) and {*reading.tests} <= {*tests}:
        places = map(tests.index, reading.tests)
    else:
        reading.refuse(
            number,
            before + numbers[0].start() + 1,
            f"{len(numbers)} values stand under {len(columns)} columns, and the blanks that say "
            "which columns are empty are lost. Upload the text as IOzone printed it.",
        )
        return
    for place, token in zip(places, numbers, strict=False):
        column = before + token.start() + 1
        # A file that ends right behind a digit may be cut within the number. It is not where
        # the number has room to its left and ends where the column's values do.
        at_end = is_last and token.end() == len(text)
        if at_end and not (place is not None and _is_whole(columns[place], token)):
            reading.warn(number, column, cut_off(token[0]))
            return
        if place is None:
            reading.refuse(
                number,
                column,
                f"{quoted(token[0])} stands under no column of the header. Upload the text as "
                "IOzone printed it, with its spaces.",
            )
            return
        if tests[place]:
            key = (tests[place], record_kb, file_kb)
            _cell(reading, key, int(token[0]), number, column)


def _numbers(
    reading: _Reading, tokens: Iterable[re.Match[str]], number: int, before: int
) -> list[re.Match[str]]:
    """The values of a row, up to what IOzone says there; none where the row is refused."""
    numbers: list[re.Match[str]] = []
    for token in tokens:
        column = before + token.start() + 1
        if _NO_RATE.fullmatch(token[0]):
            message = f"{quoted(token[0])} stands among the values, and no rate or time is that."
            reading.refuse(number, column, message)
            return []
        if token[0][0].isdigit() and not re.fullmatch("[0-9]+", token[0]):
            # What IOzone says in a row begins with a word.
            reading.refuse(
                number,
                column,
                f"{quoted(token[0])} stands among the values and is not a number: the file was "
                "changed. Upload it as IOzone printed it.",
            )
            return []
        if not re.fullmatch("[0-9]{1,15}", token[0]):
            reading.failed = True
            rest = token.string[token.start() :]
            reading.warn(number, column, f"IOzone says {quoted(rest, 200)}.")
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


def _cell(reading: _Reading, key: tuple[str, int, int], value: int, line: int, column: int) -> None:
    test, record_kb, file_kb = key
    if key in reading.cells:
        reading.refuse(
            line,
            column,
            f"{test} of {record_kb} KB records in {file_kb} KB files was already given in line "
            f"{reading.cells[key]}.",
        )
        return
    reading.cells[key] = line
    if value == 0:
        message = f"{test}: {MISSING}"
        reading.result.warnings.append(Problem(line, column, message, is_note=True))
        return
    unit = reading.unit or _DEFAULT_UNIT
    reading.result.values.append(ParsedValue(test, record_kb, file_kb, float(value), unit, line))


def _is_measurable(reading: _Reading, value: ParsedValue) -> bool:
    """Whether a value can be one; where it cannot, that is said."""
    if value.value <= most_measurable(value.unit):
        return True
    said = beyond_measure(f"{value.value:.0f}", value.unit)
    reading.warn(value.line, None, f"{value.test}: {said} It stays missing.")
    return False


def _compare(reading: _Reading, report: list[ParsedValue]) -> None:
    """The matrix and the report of -R are the same numbers twice; say where they are not."""
    matrix = {(v.test, v.record_size_kb, v.file_size_kb): v for v in reading.result.values}
    for value in report:
        same = matrix.get((value.test, value.record_size_kb, value.file_size_kb))
        if same is not None and same.value != value.value:
            reading.refuse(
                value.line,
                None,
                f"The report says {value.value:.0f} for {value.test} of {value.record_size_kb} KB "
                f"records in {value.file_size_kb} KB files, the matrix in line {same.line} says "
                f"{same.value:.0f}: the file was changed.",
            )


def _name_modes(result: ParsedResult, settings: list[str]) -> None:
    # Whatever else IOzone was told (O_DIRECT, fsync in the times, ...) changes what is measured.
    parts = [text for text in settings if not _SIZES_ONLY.search(text) and not _UNIT.search(text)]
    result.modes = tuple(dict.fromkeys((*parts, *settings_of(result.command, has_head=True))))


def _no_values(lines: list[str]) -> Problem:
    for number, line in enumerate(lines, start=1):
        if _HEADER.match(line):
            following = next((text.strip() for text in lines[number + 1 :] if text.strip()), "")
            more = f" IOzone says {quoted(following, 200)}." if following else ""
            return Problem(number, None, f"No value follows the header of the matrix.{more}")
    return Problem(
        len(lines), None, "IOzone's banner is there, but no matrix follows: the run did not start."
    )
