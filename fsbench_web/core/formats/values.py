"""What the parsers of tool output share: names, numbers, settings, and repeats in one file.

Numbers are kept as printed, or converted exactly by a factor in decimal arithmetic.
"""

import hashlib
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from fsbench_web.core.formats.result import (
    MAX_VALUE,
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
    quoted,
    underflows,
)
from fsbench_web.core.latency import Distribution
from fsbench_web.core.units import most_measurable

# C prints with the decimal sign of its locale and never groups digits.
_NUMBER = re.compile(r"[0-9]{1,40}([.,][0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_MOST_MODES = 1000
_LONGEST_NAME = 100
"""Suffixes that parsers add (_clat_p99.99) leave it within what the database keeps."""
_LONGEST_SETTING = 200
_NEGATIVE = re.compile(r"-[0-9.]+")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def number(text: str, times: Decimal | int = 1) -> float | None:
    """The number that ``text`` is, times a factor; None for anything else, negatives included."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(Decimal(text.replace(",", ".")) * times)
    return value if value <= MAX_VALUE and not underflows(text, value) else None


def prefixed(prefix: str | None, other: str, base: int = 1024) -> Decimal:
    """How many units with the prefix ``other`` one with ``prefix`` is: 1024 of ("Gi", "M")."""
    return Decimal(base) ** (_POWERS[(prefix or "").strip("i").upper()[:1]] - _POWERS[other])


def test_name(*parts: str) -> str:
    """The name of a test from words of the file, in lower case.

    One that is too long is cut and ends with a digest of all of it.
    """
    words = [re.sub(r"[^a-z0-9.-]+", "_", part.lower()).strip("_.-") for part in parts]
    name = "_".join(word for word in words if word) or "unnamed"
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST_NAME - 9]}_{digest}"


def count_of(text: str, most_digits: int = 9) -> int | None:
    """The whole number that ``text`` is; None for anything else, and for more digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else None


def sizes_kb(
    record_bytes: Decimal | int | None, file_bytes: Decimal | int | None
) -> tuple[int | None, int | None]:
    """Record and file size in KB of 1024 bytes, where both are given, whole, and can be kept."""
    if not record_bytes or not file_bytes or record_bytes % 1024 or file_bytes % 1024:
        return None, None
    if record_bytes >= 2**41 or file_bytes >= 2**60:
        return None, None
    return int(record_bytes // 1024), int(file_bytes // 1024)


def words_of(command: str) -> list[str]:
    """The words of a command line; of one with a quote that does not end, those between blanks."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def settings_of_command(command: str, may_differ: Collection[str]) -> tuple[str, ...]:
    """The options of a command line that are part of the workload, with their values, sorted.

    A false difference splits a series, a false repeat spoils a result. ``may_differ``: "-d",
    "--log", or "-O log" for the "-O log=…" of an option that says many things.
    """
    options: list[list[str]] = []
    for word in words_of(command):
        if word.startswith("-") and len(word) > 1 and not _NEGATIVE.fullmatch(word):
            options.append(_option_parts(word))
        elif options:
            options[-1].append(word)
    settings = {
        " ".join(option)[:_LONGEST_SETTING]
        for option in options
        if not {option[0], " ".join(option[:2]).partition("=")[0]} & {*may_differ}
    }
    return tuple(sorted(settings))


def _option_parts(word: str) -> list[str]:
    """An option, and the value that is written together with it: -i2, -G=27, --log=/tmp/x."""
    if word.startswith("--"):
        name, _, value = word.partition("=")
    else:
        name, value = word[:2], word[2:].removeprefix("=")
    return [name, value] if value else [name]


def differences(results: Sequence[ParsedResult]) -> list[list[str]]:
    """For each result the settings that not all of them have; empty lists where all are alike."""
    shared = (
        set(results[0].modes).intersection(*(result.modes for result in results)) if results else ()
    )
    return [[mode for mode in result.modes if mode not in shared] for result in results]


Key = tuple[object, ...]


def value_key(value: ParsedValue) -> Key:
    """What two values have in common that are repeats of each other."""
    return (
        *(value.filesystem, value.configuration, value.hardware),
        *(value.test, value.load, value.record_size_kb, value.file_size_kb),
    )


def numbered_repeats(blocks: Sequence[Sequence[ParsedValue]]) -> list[ParsedValue]:
    """The values of a file's reports in order, with ``repeat`` set where reports are repeats.

    A report is the repeat after the last one that measured any of the same.
    """
    last: dict[Key, int] = {}
    placed: list[tuple[int, ParsedValue]] = []
    for block in blocks:
        keys = [value_key(value) for value in block]
        if len(set(keys)) == len(keys):
            place = 1 + max((last.get(key, 0) for key in keys), default=0)
            last.update(dict.fromkeys(keys, place))
            placed += [(place, value) for value in block]
        else:
            # The same test twice in one report: it is counted value by value.
            for key, value in zip(keys, block, strict=True):
                last[key] = last.get(key, 0) + 1
                placed.append((last[key], value))
    if max(last.values(), default=1) == 1:
        return [value for _, value in placed]
    return [replace(value, repeat=place) for place, value in placed]


@dataclass
class Collector:
    """The values of a file as they are found.

    ``load``, ``sizes`` (in KB) and ``is_steady`` are of the values added next. ``lines_before`` are
    above the part of the file that is read. ``must_stop``: what follows would change nothing.
    """

    result: ParsedResult
    lines_before: int = 0
    must_stop: bool = False
    count: int = 0
    load: str = ""
    sizes: tuple[int | None, int | None] = (None, None)
    is_steady: bool | None = None
    problems: list[Problem] = field(default_factory=list)
    _blocks: list[list[ParsedValue]] = field(default_factory=lambda: [[]])
    _settings: list[tuple[str, ...]] = field(default_factory=lambda: [()])
    _modes: set[str] = field(default_factory=set)
    _places: list[int] = field(default_factory=list)
    _first: tuple[int, object] | None = None

    def begin(self, settings: Iterable[str] = ()) -> None:
        """Begin a further report, made with ``settings``: what it measures again is a repeat."""
        self.load, self.sizes = "", (None, None)
        self._blocks.append([])
        self._settings.append(())
        self.made_with(settings)

    def made_with(self, settings: Iterable[str]) -> None:
        """The settings of the report that was begun last, where it says them below its numbers."""
        self._settings[-1] = tuple(settings)
        new = [name for name in dict.fromkeys(self._settings[-1]) if name not in self._modes]
        if new and len(self._modes) < _MOST_MODES:
            self._modes.update(new)
            self.result.modes = (*self.result.modes, *new)

    def add(
        self,
        test: str,
        text: str,
        unit: str,
        line: int,
        *,
        times: Decimal | int = 1,
        samples: Sequence[float] = (),
        configuration: str = "",
        filesystem: str = "",
        hardware: str = "",
    ) -> None:
        """Keep the number ``text`` times a factor, in ``unit``.

        A printed 0 is nothing measured, or less than the tool can print: it stays missing.
        """
        value = number(text, times)
        if value is None:
            self.warn(line, f"{test}: {quoted(text)} is not a measurement; it stays missing.")
        elif value == 0:
            message = "0 is printed for what was not measured or is less than one unit"
            self.warn(line, f"{test}: {message}; it stays missing.")
        elif value > (most := most_measurable(unit)):
            self.warn(line, f"{test}: {beyond_measure(f'{value:.15g}', unit)} It stays missing.")
        elif self.count >= MAX_VALUES:
            self.refuse_too_much(line)
        else:
            record_kb, file_kb = self.sizes
            self.count += 1
            self._blocks[-1].append(
                ParsedValue(
                    test=test,
                    record_size_kb=record_kb,
                    file_size_kb=file_kb,
                    value=value,
                    unit=unit,
                    line=line + self.lines_before,
                    load=self.load,
                    samples=tuple(samples) if max(samples, default=0) <= most else (),
                    configuration=configuration,
                    filesystem=filesystem,
                    hardware=hardware,
                    is_steady=self.is_steady,
                )
            )

    def add_distribution(self, distribution: Distribution | None) -> None:
        """Keep latencies as counts, of the repeat of the value that was added last."""
        if distribution is not None:
            self.result.distributions.append(distribution)
            self._places.append(self.count - 1)

    def warn(
        self, line: int | None, message: str, column: int | None = None, *, is_note: bool = False
    ) -> None:
        """Say what was left out or went wrong; ``is_note``: what a reader should know else."""
        if len(self.result.warnings) > MAX_VALUES:
            self.refuse_too_much(line)
        else:
            line = self._line_of_file(line)
            self.result.warnings.append(Problem(line, column, message, is_note))

    def lose(self, line: int | None, message: str) -> None:
        """Say that the tool did not come to its end here, or that a row is damaged."""
        self.result.complete = False
        self.warn(line, message)

    def refuse(self, line: int | None, message: str, column: int | None = None) -> None:
        if len(self.problems) < ENOUGH_PROBLEMS:
            self.problems.append(Problem(self._line_of_file(line), column, message))
        self.must_stop = self.must_stop or len(self.problems) >= ENOUGH_PROBLEMS

    def refuse_other_settings(self, line: int, settings: object) -> None:
        """Refuse a run that begins here with other settings than the first of the file."""
        self._first = self._first or (line, settings)
        first_line, first = self._first
        if settings != first:
            place = f"that in line {first_line}"
            message = f"A run with other settings than {place}: make it a file of its own."
            self.refuse(line, message)

    def _check_settings(self) -> None:
        """Refuse what is measured again with other settings: it is no repeat."""
        first: dict[Key, tuple[str, ...]] = {}
        for block, settings in zip(self._blocks, self._settings, strict=True):
            for value in block:
                before = first.setdefault(value_key(value), settings)
                if before != settings:
                    other = quoted("; ".join(sorted({*settings} ^ {*before})), 200)
                    message = (
                        f"{value.test} is measured again with other settings. These differ in "
                        f"{other}: import each alone."
                    )
                    self.refuse(value.line, message)
                    break

    def _line_of_file(self, line: int | None) -> int | None:
        return None if line is None else line + self.lines_before

    def refuse_too_much(self, line: int | None) -> None:
        """Note that the file has more values than any tool prints."""
        self.must_stop = True
        if not self.problems:
            self.problems.append(too_many_values(self._line_of_file(line)))

    def finish(self, nothing: str, line: int | None = None) -> ParsedResult:
        """The result, repeats numbered. Raises UnreadableFile; ``nothing`` says why no value is."""
        self.lines_before = 0
        if not self.count and not self.problems:
            self.refuse(line, nothing)
        self._check_settings()
        if self.problems:
            raise UnreadableFile(capped(self.problems))
        values = self.result.values = numbered_repeats(self._blocks)
        self.result.distributions = [
            replace(distribution, repeat=values[place].repeat if place >= 0 else None)
            for distribution, place in zip(self.result.distributions, self._places, strict=True)
        ]
        return self.result


@dataclass(frozen=True)
class Format:
    """A format of text: its name, its tool, how it is recognised and read.

    ``has_long_lines``: lines of any length; ``long_line``: what begins one that may have any.
    """

    name: str
    tool: str
    recognises: Callable[[list[str]], bool]
    read: Callable[..., ParsedResult]
    has_long_lines: bool = False
    long_line: str = ""

    def __call__(self, lines: list[str], **options: object) -> ParsedResult:
        """Read a text. Raises UnreadableFile with everything that is wrong."""
        return self.read(lines, Collector(ParsedResult(self.name, self.tool)), **options)


def reads(
    name: str,
    tool: str,
    recognises: Callable[[list[str]], bool],
    *,
    has_long_lines: bool = False,
    long_line: str = "",
) -> Callable[[Callable[..., ParsedResult]], Format]:
    """Make a format of a function that reads lines into a collector."""
    return lambda read: Format(name, tool, recognises, read, has_long_lines, long_line)


def every_sign(*signs: Callable[[str], object]) -> Callable[[list[str]], bool]:
    """Recognise a text by lines that have all of these signs."""
    return lambda lines: all(any(map(sign, lines)) for sign in signs)


def any_line(*signs: Callable[[str], object]) -> Callable[[list[str]], bool]:
    """Recognise a text by any line with one of these signs."""
    return lambda lines: any(any(map(sign, lines)) for sign in signs)
