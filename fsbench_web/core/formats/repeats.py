"""Whether the repeats in one file are some: made in one place with one command, and alike. Pure.

Of tools that print their command or options only paths count: formats compare the rest. Of other
tools the typed command above a run counts. Another place or command makes no repeat.

A tool's output says neither file system nor disk. Who pasted "before" and "after" into one file,
or ran a tool on two disks, has two contenders. Nobody but them knows. So other headings, and
numbers that are far apart, are asked about.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter, itemgetter

from fsbench_web.core.formats.result import (
    ParsedResult,
    ParsedValue,
    Problem,
    UnreadableFile,
)
from fsbench_web.core.formats.text import capped, quoted
from fsbench_web.core.formats.values import Key, value_key, words_of
from fsbench_web.core.units import UnknownUnit, lower_is_better

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

# Tools with typed commands. Each has the name of its program.
_PROGRAMS = (
    *("bonnie++", "compilebench", "db_bench", "dbench", "dd", "diskspd", "filebench", "fio"),
    *("hdparm", "ioping", "pgbench", "postmark", "sysbench"),
)
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
    """The first rate of each test with repeats that differ by more than MOST_APART."""
    first: dict[object, ParsedValue] = {}
    problems: dict[object, Problem] = {}
    for value in result.values:
        if value.repeat is None or not value.test.endswith(("_bw", "_iops")):
            continue
        key = value_key(value)
        before = first.setdefault(key, value)
        low, high = sorted((before.value, value.value))
        if high > MOST_APART * low and key not in problems:
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
    if tool not in _PROGRAMS:
        return
    commands = dict(typed_commands(tool, lines))
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
    settings = []
    is_value = False
    for word in words_of(command):
        if _NO_SETTING.fullmatch(word):
            is_value = "=" not in word
        else:
            if not is_value or word.startswith("-"):
                settings.append(word)
            is_value = False
    return sorted(settings)


def _several(places: Sequence[tuple[str, ...]]) -> str:
    named = ", ".join(" and ".join(paths)[:60] for paths in places[:3])
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return (
        f"The runs of this file were made in several places ({named}{more}) and are taken as those "
        "of one contender. If these are several file systems, make each a file of its own."
    )


MOST_APART = 3
"""Repeats that differ by more than this factor are asked about."""
CODE = "repeats_differ"
_COUNTED = ("table", "wide table", "ior-csv")
"""Formats in which each number says which repeat it is of."""
_MOST_HEADINGS = 10
_LONGEST_HEADING = 80
_MOST_WORDS = 8
_NO_HEADING = re.compile(
    r"[\s>|]|pm>|.*\w=|.*%|.*[.,;\\]$|.*[0-9]:[0-9]{2}|"
    r"(?:warning|error|fatal|note|info|debug|real|user|sys)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:(?:run|iteration|repeat|rep|round|pass|trial|loop|attempt|sample|test|try|no|nr)s?)?"
    r"[ _#:.-]*[0-9]+(?: ?(?:of|/) ?[0-9]+)?|"
    r"(?:first|second|third|fourth|fifth|last|next|another|one more)"
    r"(?: (?:run|iteration|repeat|round|pass|trial|attempt|time|try))?|again|repeat|run",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"(?:\S{0,60}[@~]\S{0,60} ?)?[$%#] ?(?:sudo )?(\S+)(.*)")
# What changes what is measured next. Other commands do not.
_CHANGES = re.compile(
    r"mount|mkfs(?:\.\w+)?|tune2fs|sysctl|modprobe|mdadm|lvcreate|lvconvert|blockdev|hdparm|nvme|"
    r"ethtool|xfs_\w+|btrfs|zfs|zpool|cryptsetup|taskset|numactl|cpupower"
)
_IN_KERNEL = re.compile(r"echo [^>]{0,400}> ?/(?:sys|proc)/(?!.{0,400}drop_caches)")
_TYPED_COMMAND = re.compile(
    r"# (?:rm|sync|sleep|ls|df|cat|cd|echo|clear|date|exit|for|done|do|while|time|dmesg|free|"
    r"umount|lsblk|mkdir|export|uname|lspci)\b|# \S*/|# .* -"
)
_DECORATION = " \t#*=-~_[](){}<>:.!"
_DIGITS = re.compile("[0-9]+")
_SAYS_DIGITS = re.compile(
    r"\b(?:kernel|linux|raid|version|rc|v)[ -]?[0-9]|\bext[234]\b|"
    r"[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}",
    re.IGNORECASE,
)


def doubts(result: ParsedResult, lines: Sequence[str]) -> list[Problem]:
    """What speaks against repeats that the output of a tool was numbered as; none of a table."""
    if result.format in _COUNTED or not any(value.repeat for value in result.values):
        return []
    problems = _other_headings(result, lines)
    if not problems and (pair := far_apart(result.values)) is not None:
        problems.append(apart(pair, f"line {pair[0].line}", pair[1].line))
    return problems


def apart(pair: tuple[ParsedValue, ParsedValue], place: str, line: int) -> Problem:
    """The problem that two values are far apart for repeats; the first is at ``place``."""
    first, second = pair
    message = (
        f"{first.test} is {first.value:.6g} {first.unit} in {place}, and {second.value:.6g} here. "
        f"Repeats seldom differ by more than a factor of {MOST_APART}."
    )
    return Problem(line, None, message, code=CODE)


def far_apart(values: Iterable[ParsedValue]) -> tuple[ParsedValue, ParsedValue] | None:
    """The two most different values of a cell of any test; None below MOST_APART.

    The middle cell of a test counts. Rates go before times: the longest time differs in each run.
    """
    cells: dict[Key, list[ParsedValue]] = defaultdict(list)
    for value in values:
        cells[value_key(value)].append(value)
    tests: dict[tuple[str, str], list[tuple[float, ParsedValue, ParsedValue]]] = defaultdict(list)
    for cell in cells.values():
        low, high = min(cell, key=attrgetter("value")), max(cell, key=attrgetter("value"))
        if len(cell) > 1 and low.value > 0:
            tests[low.test, low.load].append((high.value / low.value, low, high))
    rates = [pairs for pairs in tests.values() if _is_rate(pairs[0][1].unit)]
    middles = [
        sorted(pairs, key=itemgetter(0))[(len(pairs) - 1) // 2] for pairs in rates or tests.values()
    ]
    if not middles:
        return None
    ratio, low, high = max(middles, key=itemgetter(0))
    if ratio <= MOST_APART:
        return None
    return (low, high) if low.line <= high.line else (high, low)


def _is_rate(unit: str) -> bool:
    try:
        return not lower_is_better(unit)
    except UnknownUnit:
        return False


def _other_headings(result: ParsedResult, lines: Sequence[str]) -> list[Problem]:
    """Headings that stand above some repeats, and not above the others."""
    spans = _spans(result.values)
    if not spans:
        return []
    ends = [0, *(last for _, last in spans)]
    starts = [*(first - 1 for first, _ in spans), len(lines)]
    regions = [
        {
            _template(line): (number, line)
            for number, line in enumerate(lines[end:start], start=end + 1)
            if _is_heading(line)
        }
        for end, start in zip(ends, starts, strict=True)
    ]
    *above, below = regions
    # What the tool prints itself stands above the first results too, or below the last ones.
    printed = above[0].keys() | below.keys()
    problems: list[Problem] = []
    for region in above[1:]:
        new = [where for template, where in region.items() if template not in printed]
        if new and len(problems) < _MOST_HEADINGS:
            number, line = new[-1]
            message = (
                f"{quoted(line)} stands above these numbers, and not above those of line "
                f"{spans[0][0]}: they may be of another contender."
            )
            problems.append(Problem(number, None, message, code=CODE))
    return problems


def _spans(values: Sequence[ParsedValue]) -> list[tuple[int, int]]:
    """First and last line of each repeat; empty where these are not one below the other."""
    spans: dict[int, tuple[int, int]] = {}
    for value in values:
        first, last = spans.get(value.repeat or 1, (value.line, value.line))
        spans[value.repeat or 1] = (min(first, value.line), max(last, value.line))
    ordered = [spans[repeat] for repeat in sorted(spans)]
    is_in_order = all(last < first for (_, last), (first, _) in pairwise(ordered))
    return ordered if is_in_order else []


def _is_heading(line: str) -> bool:
    """Whether somebody wrote a line above a result, or typed what changes it."""
    text = line[:_LONGEST_HEADING]
    if (typed := _PROMPT.match(text)) is not None:
        if _CHANGES.fullmatch(typed[1]) or _IN_KERNEL.search(text):
            return True
        # A heading of Markdown looks like root's prompt.
        if not line.startswith("# ") or _TYPED_COMMAND.match(text):
            return False
    if len(line) > _LONGEST_HEADING or _NO_HEADING.match(line):
        return False
    words = line.strip(_DECORATION).split()
    if not 0 < len(words) <= _MOST_WORDS or _NUMBERED.fullmatch(" ".join(words)):
        return False
    numbers = sum(word[0].isdigit() for word in words)
    return numbers < 2 and any(letter.isalpha() for letter in line)


def _template(line: str) -> str:
    """A line without its numbers, but where these name what is measured."""
    text = " ".join(line.lower().split())
    is_said = _SAYS_DIGITS.search(text) or _PROMPT.match(text)
    return text if is_said else _DIGITS.sub("0", text)
