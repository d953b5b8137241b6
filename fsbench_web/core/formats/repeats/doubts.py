"""Repeats that may be none: another heading stands above them, or they are far apart. Pure.

A tool's output says neither file system nor disk. Who pasted "before" and "after" into one file,
or ran a tool on two disks, has two contenders. Nobody but them knows.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from fsbench_web.core.formats.result import ParsedResult, ParsedValue, Problem
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Key, value_key
from fsbench_web.core.units import UnknownUnit, lower_is_better

MOST_APART = 3
"""Repeats that differ by more than this factor are asked about."""
CODE = "repeats_differ"
_COUNTED = ("table", "wide table", "ior-csv")
"""Formats in which each number says which repeat it is of."""
_MOST_HEADINGS = 10
_LONGEST = 80
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
_COMMAND = re.compile(
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
        low, high = min(cell, key=_amount), max(cell, key=_amount)
        if len(cell) > 1 and low.value > 0:
            tests[low.test, low.load].append((high.value / low.value, low, high))
    rates = [pairs for pairs in tests.values() if _is_rate(pairs[0][1].unit)]
    middles = [
        sorted(pairs, key=_ratio)[(len(pairs) - 1) // 2] for pairs in rates or tests.values()
    ]
    if not middles:
        return None
    ratio, low, high = max(middles, key=_ratio)
    if ratio <= MOST_APART:
        return None
    return (low, high) if low.line <= high.line else (high, low)


def _amount(value: ParsedValue) -> float:
    return value.value


def _ratio(pair: tuple[float, ParsedValue, ParsedValue]) -> float:
    return pair[0]


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
    text = line[:_LONGEST]
    if (typed := _PROMPT.match(text)) is not None:
        if _CHANGES.fullmatch(typed[1]) or _IN_KERNEL.search(text):
            return True
        # A heading of Markdown looks like root's prompt.
        if not line.startswith("# ") or _COMMAND.match(text):
            return False
    if len(line) > _LONGEST or _NO_HEADING.match(line):
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
