"""What files, folders, names and command lines say of a run: its configuration, and when it was.

No database.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from fsbench_web.catalog.configurations.labels import parse_label
from fsbench_web.core.comparison.imported import as_label, names_of
from fsbench_web.core.formats.result import OwnKey, ParsedResult, PrintedDate, Problem
from fsbench_web.core.formats.tables.headers import is_filesystem
from fsbench_web.platform import clock

# IOzone's -f and -U, fio's --filename and --directory, bonnie++'s -d, sysbench's and others'.
_PATH = re.compile(r"(?:^|[\s=\"'])(/[^\s\"'=]+)")
INSTEAD = "the date of the import stands for it"
EARLIEST_YEAR = 1990
"""Before any of the tools; a clock that was never set says 1970."""
_AHEAD = timedelta(days=1)
"""A machine may be up to 14 hours ahead of this one, and its file says no time zone."""


@dataclass(frozen=True)
class Guess:
    """File system and label, empty where nothing says them; ``reasons`` are sentences."""

    filesystem: str = ""
    configuration: str = ""
    reasons: list[str] = field(default_factory=list)


def folder_labels(paths: Sequence[str]) -> list[str]:
    """For each path the label of its sub-folder, or "".

    What all paths share tells nothing apart; it counts only where it is a label itself.
    """
    folders = [path.split("/")[:-1] for path in paths]
    common = 0
    while folders and all(
        len(parts) > common and parts[common] == folders[0][common] for parts in folders
    ):
        common += 1
    return [_label(parts[common:], parts[:common]) for parts in folders]


def _label(own_parts: list[str], shared_parts: list[str]) -> str:
    label = as_label("_".join(own_parts))
    for part in reversed(shared_parts):
        prefix = as_label(part)
        if prefix and parse_label(prefix) is not None:
            joined = f"{prefix}_{label}" if label else prefix
            return joined if parse_label(joined) is not None else label
    return label


def filesystem_of(label: str) -> str:
    """The file system that a label is of, or "": the first of its words that is one."""
    parts = parse_label(label)
    if parts is not None:
        return parts.filesystem
    return next((word for word in re.split("[_-]", label) if is_filesystem(word)), "")


def from_folder(label: str) -> Guess:
    return Guess(filesystem_of(label), label) if label else Guess()


def name_label(path: str) -> str:
    """The label that a file's own name is, such as ext4.txt; "" where it names no file system."""
    stem, bare = names_of(path)
    text = stem if is_filesystem(stem) or parse_label(stem) is not None else bare
    return text if filesystem_of(text) else ""


def from_name(path: str) -> Guess:
    """The file system among the words of a file's name, with the known options behind it."""
    words = names_of(path)[1].replace("-", "_").split("_")
    place = next((n for n, word in enumerate(words) if is_filesystem(word)), None)
    if place is None:
        return Guess()
    labels = ("_".join(words[place:end]) for end in range(len(words), place + 1, -1))
    label = next((label for label in labels if parse_label(label) is not None), words[place])
    return Guess(
        filesystem_of(label), label, [f"Configuration {label} is guessed from the file's name."]
    )


def repeats_from_names(paths: Sequence[str]) -> dict[str, int]:
    """Repeats of files called alike but for a last number, from 0 or 1 without a gap."""
    groups: dict[str, dict[str, int]] = {}
    for path in paths:
        stem, bare = names_of(path)
        number = re.search("[0-9]{1,6}$", stem)
        if number is not None and "/" not in path:
            groups.setdefault(bare, {})[path] = int(number[0])
    repeats: dict[str, int] = {}
    for numbers in groups.values():
        first = min(numbers.values())
        is_counted = sorted(numbers.values()) == list(range(first, first + len(numbers)))
        if len(numbers) > 1 and first < 2 and is_counted:
            repeats |= {path: number - first + 1 for path, number in numbers.items()}
    return repeats


def from_command(path: str, command: str) -> Guess:
    """What the file's own name and the paths in the command line say, such as -f /lun1/ext2/t."""
    if (named := from_name(path)).filesystem:
        return named
    for mentioned in _PATH.findall(command):
        for part in reversed(mentioned.split("/")):
            label = as_label(part)
            filesystem = filesystem_of(label) if label else ""
            if filesystem:
                label = label if parse_label(label) is not None else filesystem
                reason = (
                    f"Configuration {label} is guessed from {mentioned[:120]} in the command line."
                )
                return Guess(filesystem, label, [reason])
    return Guess()


def from_printed(kernels: Sequence[str]) -> tuple[str, list[str]]:
    """The kernel that a tool says it ran on, with a sentence; "" where it names none or several."""
    if len(kernels) != 1:
        return "", []
    return kernels[0], [f"Kernel {kernels[0]} is what the output says of its system."]


@dataclass(frozen=True)
class MeasuredDate:
    """``Run.measured_at`` and ``measured_source``; ``at`` is None where nobody says when."""

    at: datetime | None = None
    source: dict[str, Any] = field(default_factory=dict)


def measured_date(parsed: ParsedResult, keys: Iterable[OwnKey]) -> MeasuredDate:
    """When the run was measured that a file calls by these keys: at the first date of any."""
    dates = [parsed.dates[key] for key in keys if key in parsed.dates]
    plausible = [date for date in dates if not _doubt(date)]
    if not plausible:
        return MeasuredDate()
    first = min(plausible, key=lambda date: date.line)
    assert first.at is not None
    zone = "" if first.at.tzinfo else timezone.get_default_timezone_name()
    source = {"text": first.text, "line": first.line, "assumed_zone": zone}
    return MeasuredDate(_aware(first.at), source)


def date_doubts(parsed: ParsedResult) -> list[Problem]:
    """Why dates of the file are not taken, or not for sure, in sentences."""
    return [
        Problem(date.line, None, f"\u201c{date.text}\u201d {doubt}.", is_note=True)
        for date in dict.fromkeys(parsed.dates.values())
        if (doubt := f"{why}; {INSTEAD}" if (why := _doubt(date)) else _ambiguity(date))
    ]


def _ambiguity(date: PrintedDate) -> str:
    """Where clocks are put forward or back, what a time without a zone is taken for; else empty."""
    if date.at is None or date.at.tzinfo:
        return ""
    zone = timezone.get_default_timezone()
    first, second = (
        date.at.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1)
    )
    if first == second:
        return ""
    name = timezone.get_default_timezone_name()
    if first > second:
        return f"happened twice in {name}, where clocks went back; the first is taken"
    taken = f"{timezone.localtime(_aware(date.at), zone):%H:%M}"
    return f"never happened in {name}, where clocks went forward; {taken} is taken"


def _doubt(date: PrintedDate) -> str:
    """Why it cannot be when the run was measured; empty where it can."""
    if date.at is None:
        return "is no date"
    # By year first: the first and the last hours of all time have no UTC.
    if date.at.year < EARLIEST_YEAR:
        return f"is before {EARLIEST_YEAR}"
    latest = clock.now() + _AHEAD
    if date.at.year > latest.year or _aware(date.at) > latest:
        return "is in the future"
    return ""


def _aware(at: datetime) -> datetime:
    """In the site's time zone where the file says none: the page then shows what the file does."""
    aware = at if at.tzinfo else timezone.make_aware(at, timezone.get_default_timezone())
    # Hours that clocks leave out, or show twice, are unequal to themselves in another zone.
    return aware.astimezone(UTC)
