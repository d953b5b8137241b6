"""The composite.xml of the Phoronix Test Suite, and its exported CSV (result-file-to-csv).

Each result says its unit and whether more of it is better (HIB or LIB). Its entries are named after
systems: a file with several of them holds several configurations. The CSV has a row a result and a
value a system; versions before 9 wrote no unit, so their numbers cannot be kept. XML with a
document type is refused, so that no entity can be declared. Source: the suite's documentation
("Results"), and files of its versions 5 to 10.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from xml.parsers import expat

from fsbench_web.core.formats.dates import printed_date
from fsbench_web.core.formats.result import (
    ParsedResult,
    PrintedDate,
    Problem,
    UnreadableFile,
    own_key,
)
from fsbench_web.core.formats.text import csv_fields, quoted
from fsbench_web.core.formats.values import Collector, any_line, number, reads, test_name

_TIMES = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), "µs"),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), "ns"),
}
_RATE = re.compile(r"(.{1,16})(?:/s|/sec|/second| per second)", re.IGNORECASE)
_KNOWN = re.compile(
    r"ext[234]|xfs|btrfs|jfs|reiserfs|f2fs|zfs|bcachefs|nilfs2|ntfs|overlayfs|tmpfs"
)
_FILESYSTEM = re.compile(r"File-?System:\s*([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_KERNEL = re.compile(r"(?:^|,)\s*Kernel:\s*([0-9][A-Za-z0-9.+~_-]{0,199})")
_ROOT = re.compile(r"<PhoronixTestSuite[\s>]")
_VERSIONED = re.compile(r"-[0-9]+(?:\.[0-9]+)*$")
_MAX_DEPTH = 32
_MAX_TEXT = 1_000_000
_REFUSED = (
    "The XML declares a document type or an entity. Result files of the Phoronix Test Suite have "
    "none, and fsbench reads none."
)
_HEADER = re.compile(r'^[^\S\t]*+"?[^\S\t]*+"?([,;\t])\1?\s*+"[^"]+"')
_RESULT = re.compile(r'^"(?=(?:[^"]|"")+ - )(?:[^"]|"")*"[^\S\t]*+([,;\t])')
_NAME = re.compile(r"(?>(.+?) - )(.*(?<!\s)|)\s*\(([^()]*)\)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class _System:
    """What an entry of a result belongs to; empty where the file does not say."""

    name: str
    filesystem: str


def _unit_of(scale: str, proportion: str) -> str:
    """The unit in fsbench's words; "" for no rate and no time, or if HIB or LIB contradicts it."""
    scale = scale.strip()
    if (time := _TIMES.get(scale.lower())) is not None:
        return time if proportion != "HIB" else ""
    if proportion == "LIB":
        return ""
    if scale.lower() in ("iops", "tps"):
        return scale.upper()
    rate = _RATE.fullmatch(scale)
    return f"{rate[1]}/s" if rate is not None else ""


class _TestNames:
    """The names of the tests of one file; a profile may give several units.

    Names always say IOPS: pts/fio leaves bandwidth or IOPS out where both are the same number.
    """

    def __init__(self) -> None:
        self._units: dict[str, str] = {}

    def name(self, profile: str, description: str, unit: str) -> str:
        """The name of what a profile calls ``description``, in ``unit``."""
        text = "iops" if unit == "IOPS" and "iops" not in description.lower() else ""
        test = test_name(profile, text, description)
        if self._units.setdefault(test, unit) != unit:
            test = test_name(profile, unit, description)
        return test


def _named(pattern: re.Pattern[str], software: str) -> str:
    """What the description of a system names; empty without one."""
    match = pattern.search(software)
    return match[1] if match else ""


def _place_of(name: str, systems: Sequence[_System], *, several: bool) -> _System:
    """Where the results of a system belong; only several systems name configurations."""
    filesystem = next((system.filesystem for system in systems if system.name == name), "")
    match = _KNOWN.search(name.lower())
    if match is not None:
        filesystem = match[0]
    label = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")[:120]
    return _System(label if several else "", filesystem)


@dataclass
class _Entry:
    """The texts of one Entry, System or Result by element name, each with its line."""

    texts: dict[str, tuple[str, int]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        return self.texts.get(name, ("", 0))[0]

    def line(self, name: str) -> int:
        return self.texts.get(name, ("", 0))[1]


@dataclass
class _Result(_Entry):
    entries: list[_Entry] = field(default_factory=list)


@dataclass
class _Document:
    generated: _Entry = field(default_factory=_Entry)
    systems: list[_Entry] = field(default_factory=list)
    results: list[_Result] = field(default_factory=list)


@reads("phoronix-xml", "phoronix", any_line(_ROOT.search), has_long_lines=True)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    start = next(index for index, line in enumerate(lines) if "<" in line)
    document = _Reader(start).read("\n".join(lines[start:]))
    result = collector.result
    version = re.search(r"v?([0-9][0-9.]*\S*)", document.generated.text("TestClient"))
    result.tool_version = version[1][:40] if version else ""
    if title := document.generated.text("Title"):
        result.facts.append(("Title", quoted(title, 200).strip('"')))
    systems = [
        _System(entry.text("Identifier"), _named(_FILESYSTEM, entry.text("Software")).lower())
        for entry in document.systems
    ]
    names = {
        entry.text("Identifier")
        for test_result in document.results
        for entry in test_result.entries
    }
    places = {name: _place_of(name, systems, several=len(names) > 1) for name in names}
    tests = _TestNames()
    for test_result in document.results:
        _keep(collector, test_result, places, tests)
    if result.modes:
        result.facts.append(("Profiles", ", ".join(sorted(result.modes))[:200]))
    if len({_VERSIONED.sub("", profile) for profile in result.modes}) > 1:
        # Of a suite one that failed is missing, and the rest is a repeat all the same.
        result.modes = ()
    if len(names) == 1:
        result.facts.append(("System", quoted(names.pop(), 200).strip('"')))
    kernels = (_named(_KERNEL, entry.text("Software")) for entry in document.systems)
    result.printed_kernels = tuple(dict.fromkeys(filter(None, kernels)))
    collector.finish("The file holds no result that is a rate or a time.", 1)
    for value in result.values:
        if (date := _date(document, places, value.configuration)) is not None:
            result.dates[own_key(value)] = date
    return result


def _date(
    document: _Document, places: dict[str, _System], configuration: str
) -> PrintedDate | None:
    """When the system of a configuration was measured; else when the file was last written."""
    for entry, name in (
        *(
            (system, "TimeStamp")
            for system in document.systems
            if (place := places.get(system.text("Identifier"))) is not None
            and place.name == configuration
        ),
        (document.generated, "LastModified"),
    ):
        if text := entry.text(name):
            return printed_date(f"{name}: {text}", text, entry.line(name), datetime.fromisoformat)
    return None


def _keep(
    collector: Collector, result: _Result, places: dict[str, _System], tests: _TestNames
) -> None:
    name = result.text("Identifier") or result.text("Title")
    name = re.sub(r"^(?:pts|local|system)/", "", _VERSIONED.sub("", name))
    line = result.line("Scale") or result.line("Identifier") or None
    unit = _unit_of(result.text("Scale"), result.text("Proportion"))
    test = tests.name(name or result.text("Title"), result.text("Description"), unit)
    if not unit:
        _note_unit(collector, test, result.text("Scale"), line)
        return
    if _VERSIONED.search(result.text("Identifier")):
        # Another version of a profile measures something else (the suite's documentation).
        collector.made_with([result.text("Identifier")[:200]])
    for entry in result.entries:
        place, raw = places[entry.text("Identifier")], entry.text("RawString")
        _add(collector, (test, entry.text("Value"), unit, entry.line("Value")), place, raw)


def _note_unit(collector: Collector, test: str, scale: str, line: int | None) -> None:
    said = quoted(scale or "nothing")
    message = f"{test} is measured in {said}, which is neither a rate nor a time: left out."
    collector.warn(line, message)


def _add(
    collector: Collector, value: tuple[str, str, str, int], place: _System, raw: str = ""
) -> None:
    """Keep (test, text, unit, line) of a system; ``raw`` are its trials."""
    test, text, _, line = value
    if _NUMBER.fullmatch(text):
        trials = [number(word) for word in raw.split(":") if "," not in word]
        samples = [trial for trial in trials if trial is not None]
        collector.add(
            *value, samples=samples, configuration=place.name, filesystem=place.filesystem
        )
    elif text:
        message = f"{test}: {quoted(text)} is not a single number; it stays missing."
        collector.warn(line, message)


class _Reader:
    """Reads with expat, which keeps the lines; no tree is made of anything else."""

    def __init__(self, lines_before: int) -> None:
        self.before = lines_before
        self.path: list[str] = []
        self.parts: list[str] = []
        self.size = 0
        self.line = 0
        self.document = _Document()
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.parser.ExternalEntityRefHandler = self._refuse

    def read(self, text: str) -> _Document:
        try:
            self.parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            line, column = error.lineno + self.before, error.offset + 1
            message = f"The XML cannot be read: {expat.errors.messages[error.code]}."
            raise UnreadableFile([Problem(line, column, message)]) from None
        return self.document

    def _refuse(self, *_: object) -> int:
        line = self.parser.CurrentLineNumber + self.before
        raise UnreadableFile([Problem(line, None, _REFUSED)])

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        del attributes
        if len(self.path) >= _MAX_DEPTH:
            line = self.parser.CurrentLineNumber + self.before
            message = f"The XML has more than {_MAX_DEPTH} levels: this is not a result file."
            raise UnreadableFile([Problem(line, None, message)])
        self.path.append(name)
        self.parts, self.size = [], 0
        self.line = self.parser.CurrentLineNumber + self.before
        if self.path[1:] == ["System"]:
            self.document.systems.append(_Entry())
        elif self.path[1:] == ["Result"]:
            self.document.results.append(_Result())
        elif self.path[1:] == ["Result", "Data", "Entry"]:
            self.document.results[-1].entries.append(_Entry())

    def _text(self, text: str) -> None:
        if self.size < _MAX_TEXT:
            self.parts.append(text)
            self.size += len(text)

    def _end(self, name: str) -> None:
        text = ("".join(self.parts).strip(), self.line)
        self.parts, self.size = [], 0
        ancestors = self.path[1:-1]
        if ancestors == ["System"]:
            self.document.systems[-1].texts.setdefault(name, text)
        elif ancestors == ["Result"]:
            self.document.results[-1].texts.setdefault(name, text)
        elif ancestors == ["Result", "Data", "Entry"]:
            self.document.results[-1].entries[-1].texts.setdefault(name, text)
        elif ancestors == ["Generated"]:
            self.document.generated.texts.setdefault(name, text)
        self.path.pop()


def _recognises(lines: list[str]) -> bool:
    header = next((index for index, line in enumerate(lines) if _HEADER.match(line)), None)
    return header is not None and any(_RESULT.match(line) for line in lines[header + 1 :])


@reads("phoronix-csv", "phoronix", _recognises)
def parse_csv(lines: list[str], collector: Collector) -> ParsedResult:
    """All results that are rates or times. Raises UnreadableFile where no unit is given."""
    result = collector.result
    names: list[str] = []
    filesystems: list[str] = []
    places: list[_System] = []
    tests = _TestNames()
    for line_number, line in enumerate(lines, start=1):
        if (header := _HEADER.match(line)) is not None:
            names = [name for name in csv_fields(line, header[1]) if name]
        elif names and re.match(r"(?i)file-?system\b", line):
            mark = _delimiter(line)
            filesystems = [text.lower() for text in csv_fields(line, mark)[-len(names) :]]
        elif names and re.match(r"(?i)kernel\b", line):
            fields = csv_fields(line, _delimiter(line))[-len(names) :]
            kernels = (_named(_KERNEL, f"Kernel: {text}") for text in fields)
            result.printed_kernels = tuple(dict.fromkeys(filter(None, kernels)))
        elif names and (row := _RESULT.match(line)) is not None:
            if not places or len(places) != len(names):
                systems = [
                    _System(name, filesystem)
                    for name, filesystem in zip(names, filesystems, strict=False)
                ]
                several = len(names) > 1
                places = [_place_of(name, systems, several=several) for name in names]
            _csv_row(collector, csv_fields(line, row[1]), places, tests, line_number)
    title = next((line for line in lines if line.strip(" ,;\t")), "")
    result.facts.append(("Title", quoted(title.strip(" ,;\t"), 200).strip('"')))
    if len(names) == 1:
        result.facts.append(("System", quoted(names[0], 200).strip('"')))
    return collector.finish(
        "No result with a unit that is a rate or a time. Versions before 9 export no units: "
        "import composite.xml instead.",
        1,
    )


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _csv_row(
    collector: Collector, fields: list[str], places: list[_System], tests: _TestNames, line: int
) -> None:
    name = _NAME.fullmatch(fields[0]) if fields else None
    proportion = fields[1] if len(fields) > 1 and fields[1] in ("HIB", "LIB") else ""
    if name is None or not proportion:
        text = quoted(fields[0] if fields else "")
        collector.warn(line, f"{text} comes without a unit, or without HIB or LIB: left out.")
        return
    unit = _unit_of(name[3], proportion)
    test = tests.name(name[1], name[2], unit)
    if not unit:
        _note_unit(collector, test, name[3], line)
        return
    values = fields[2:]
    if len(values) != len(places):
        message = f"Found {len(values)} values, expected {len(places)}, one for each system."
        collector.refuse(line, message)
        return
    for text, place in zip(values, places, strict=True):
        _add(collector, (test, text, unit, line), place)
