"""Where and with which command each run of one file was made, as far as the file says it. Pure.

Of tools that print their command or options only paths count: formats compare the rest. Of other
tools the typed command above a run counts. Another place or command makes no repeat.
"""

import re
import shlex
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsbench_web.core.formats.result import (
    ParsedResult,
    ParsedValue,
    Problem,
    UnreadableFile,
)
from fsbench_web.core.formats.text import capped, quoted
from fsbench_web.core.formats.values import value_key

# How a run begins that names its paths, and where they stand: behind it, or in lines that follow.
_COMMAND = re.compile(r"^\s*+(?:#\s*+)?(?:Command line(?: used)?|COMMAND LINE)\s*:\s*\S+(.*)$")
_COMMANDS = {
    "elbencho": _COMMAND,
    "fs_mark": re.compile(r"^#\s+\S*fs_mark(\s.*)$"),
    "ioping": re.compile(r"^--- (.+) ioping statistics ---"),
    "ior": _COMMAND,
    "iozone": _COMMAND,
    "iozone-throughput": _COMMAND,
    "mdtest": _COMMAND,
}
_REPORT = re.compile(r'"fio version"\s*:')
_OPTION = re.compile(r'"(?:directory|filename)"\s*:\s*"([^"]+)"')
_PATH = re.compile(r"(?:^|[\s=\"'])(/[^\s\"'=]+)")

# Commands that are typed, by what the tool is called here.
_PROGRAMS = {
    "bonnie++": "bonnie++",
    **{
        tool: tool
        for tool in (
            *("compilebench", "db_bench", "dbench", "dd", "diskspd", "filebench", "fio"),
            *("hdparm", "ioping", "pgbench", "postmark", "sysbench"),
        )
    },
}
_ARGUMENT = re.compile(r"(?:^|\s)(?:--?\w|\w+=)|\.(?:fio|job|ini|cfg|conf|f|txt)\b|/")
_END_OF_COMMAND = re.compile(r"\s(?:[0-9]?>|&|\||;|#)|[;&|]\s*$")
_FOLDER = re.compile(r"(?:^|[$#>%;&]) {0,8}(?:cd|set location) {1,8}(\S+)")
# What may differ between repeats: seeds, and what is printed, logged and shown.
_NO_SETTING = re.compile(
    r"--?(?:output[\w-]*|eta[\w-]*|status-interval|rand-?seed|seed|report-interval|verbosity|"
    r"description|log_\w+|write_\w+_log)(?:=.*)?|status=\w*"
)
_LONGEST = 2000
_HEADING = re.compile(
    r"\s{0,8}(?:#{2,6}|={2,10}|-{3,10}|\*{2,3})\s{0,8}(\w[^#=*]{0,80})[#=*]{0,10}\s{0,8}"
)
"""What people write above a run; a single # is the prompt of root."""
_WITH_HEADINGS = frozenset({"fio"})
_MOST_APART = 3
"""Repeats of one thing differ by less as a rule."""


@dataclass(frozen=True)
class _Run:
    """Where what a run says begins, from line 1, and what of it must be the same in repeats."""

    line: int
    words: tuple[str, ...]


def check_repeats(result: ParsedResult, lines: Sequence[str]) -> None:
    """Note runs in several places. Raises UnreadableFile where some of them measure the same."""
    printed = list(_printed(result.format, lines))
    places = list(dict.fromkeys(run.words for run in printed if run.words))
    problems = _differences(result, printed)
    if result.format not in _COMMANDS or result.format == "ioping":
        problems += _differences(result, list(_typed(result.tool, lines)))
    problems += [] if problems or result.tool not in _WITH_HEADINGS else _far_apart(result)
    if problems:
        raise UnreadableFile(capped(problems))
    if len(places) > 1:
        result.has_several_places = True
        result.warnings.insert(0, Problem(None, None, _several(places)))


def _differences(result: ParsedResult, runs: Sequence[_Run]) -> list[Problem]:
    """Values that are repeats by their number, and were made otherwise, one of each two runs."""
    if len({run.words for run in runs}) < 2:
        return []
    starts = [run.line for run in runs]
    first: dict[object, tuple[_Run, int]] = {}
    problems: dict[tuple[int, int], Problem] = {}
    for value in result.values:
        place = bisect_right(starts, value.line) - 1
        if value.repeat is None or place < 0:
            continue
        run = runs[place]
        before, line = first.setdefault(value_key(value), (run, value.line))
        if before.words != run.words and (before.line, run.line) not in problems:
            other = quoted(" ".join(_only(before, run) + _only(run, before)), 200)
            message = (
                f"{value.test} is measured here again, after line {line}. These differ in {other}: "
                "import each alone."
            )
            problems[before.line, run.line] = Problem(value.line, None, message)
    return list(problems.values())


def _far_apart(result: ParsedResult) -> list[Problem]:
    """The first rate of each test with repeats that differ by more than _MOST_APART."""
    first: dict[object, ParsedValue] = {}
    problems: dict[object, Problem] = {}
    for value in result.values:
        if value.repeat is None or not value.test.endswith(("_bw", "_iops")):
            continue
        key = value_key(value)
        before = first.setdefault(key, value)
        low, high = sorted((before.value, value.value))
        if high > _MOST_APART * low and key not in problems:
            message = (
                f"{value.test} is {value.value:g} {value.unit} here and {before.value:g} in line "
                f"{before.line}: too far apart for repeats. Make each run a file of its own, and "
                "say what each is of."
            )
            problems[key] = Problem(value.line, None, message)
    return list(problems.values())


def _only(run: _Run, other: _Run) -> list[str]:
    return [word for word in run.words if word not in other.words]


def _printed(format: str, lines: Sequence[str]) -> Iterator[_Run]:
    """The paths of each run, where the format prints them."""
    if format == "fio-json":
        starts = [number for number, line in enumerate(lines, start=1) if _REPORT.search(line)]
        for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
            options = (_OPTION.search(line) for line in lines[start - 1 : end - 1])
            yield _Run(start, tuple(sorted({option[1] for option in options if option})))
    elif (command := _COMMANDS.get(format)) is not None:
        for number, line in enumerate(lines, start=1):
            if (match := command.match(line)) is not None:
                yield _Run(number, tuple(sorted(set(_PATH.findall(match[1])))))


def typed_commands(program: str, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, what follows the program) of each command of a program that was typed in a text."""
    pattern = re.compile(rf"(?:^|[\s/$#>%+]){re.escape(program)}\s+(\S.*)$")
    last = 0
    for number, line in enumerate(lines, start=1):
        if number <= last or program not in line[:_LONGEST]:
            continue
        if (match := pattern.search(line[:_LONGEST])) is None:
            continue
        text, last = match[1], number
        while text.endswith("\\") and last < len(lines) and len(text) < _LONGEST:
            text, last = f"{text[:-1]} {lines[last].strip()[:_LONGEST]}", last + 1
        text = _END_OF_COMMAND.split(text, maxsplit=1)[0]
        if _ARGUMENT.search(text):
            yield number, text


def _typed(tool: str, lines: Sequence[str]) -> Iterator[_Run]:
    """The commands of a tool that stand in a text, each with the folder that it was typed in."""
    program = _PROGRAMS.get(tool)
    if program is None:
        return
    commands = dict(typed_commands(program, lines))
    folder: tuple[str, ...] = ()
    heading: tuple[str, ...] = ()
    settings: list[str] = []
    has_headings = tool in _WITH_HEADINGS
    for number, line in enumerate(lines, start=1):
        if has_headings and (titled := _HEADING.fullmatch(line[:_LONGEST])) is not None:
            heading = (titled[1].strip(" -"),)
            yield _Run(number, (*heading, *folder, *settings))
        if (changed := _FOLDER.search(line[:_LONGEST])) is not None:
            folder = (changed[1],)
            yield _Run(number, (*heading, *folder, *settings))
        if number in commands:
            settings = _settings(commands[number])
            yield _Run(number, (*heading, *folder, *settings))


def _settings(command: str) -> list[str]:
    """The words of a command that make another one of it, sorted."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    settings = []
    is_value = False
    for word in words:
        if _NO_SETTING.fullmatch(word):
            is_value = "=" not in word
        else:
            if not is_value or word.startswith("-"):
                settings.append(word)
            is_value = False
    return sorted(settings)


def _several(places: Sequence[tuple[str, ...]]) -> str:
    """What to say of runs in several places."""
    named = ", ".join(" and ".join(paths)[:60] for paths in places[:3])
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return (
        f"The runs of this file were made in several places ({named}{more}) and are taken as those "
        "of one contender. If these are several file systems, make each a file of its own."
    )
