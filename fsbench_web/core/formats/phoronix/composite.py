"""The composite.xml of the Phoronix Test Suite.

Each result says its unit and whether more of it is better. Its entries are named after systems,
which people use for what they compare: a file with several of them holds several configurations.
No document type is accepted, so that no entity can be declared. Source: the suite's documentation
("Results"), and composite.xml files of its versions 5 to 10.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from xml.parsers import expat

from fsbench_web.core.formats.dates import printed_date
from fsbench_web.core.formats.phoronix.names import (
    System,
    TestNames,
    filesystem_of,
    kernel_of,
    place_of,
    unit_of,
)
from fsbench_web.core.formats.result import (
    ParsedResult,
    PrintedDate,
    Problem,
    UnreadableFile,
    own_key,
)
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, any_line, number, reads

_ROOT = re.compile(r"<PhoronixTestSuite[\s>]")
_VERSIONED = re.compile(r"-[0-9]+(?:\.[0-9]+)*$")
_MAX_DEPTH = 32
_MAX_TEXT = 1_000_000
_REFUSED = (
    "The XML declares a document type or an entity. Result files of the Phoronix Test Suite have "
    "none, and fsbench reads none."
)


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
    """What the XML holds."""

    generated: _Entry = field(default_factory=_Entry)
    systems: list[_Entry] = field(default_factory=list)
    results: list[_Result] = field(default_factory=list)


@reads("phoronix-xml", "phoronix", any_line(_ROOT.search), has_long_lines=True)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All results that are rates or times. Raises UnreadableFile for what is not XML."""
    start = next(index for index, line in enumerate(lines) if "<" in line)
    document = _Reader(start).read("\n".join(lines[start:]))
    result = collector.result
    version = re.search(r"v?([0-9][0-9.]*\S*)", document.generated.text("TestClient"))
    result.tool_version = version[1][:40] if version else ""
    if title := document.generated.text("Title"):
        result.facts.append(("Title", quoted(title, 200).strip('"')))
    systems = [
        System(entry.text("Identifier"), filesystem_of(entry.text("Software")))
        for entry in document.systems
    ]
    names = {
        entry.text("Identifier")
        for test_result in document.results
        for entry in test_result.entries
    }
    places = {name: place_of(name, systems, several=len(names) > 1) for name in names}
    tests = TestNames()
    for test_result in document.results:
        _keep(collector, test_result, places, tests)
    if result.modes:
        result.facts.append(("Profiles", ", ".join(sorted(result.modes))[:200]))
    if len({_VERSIONED.sub("", profile) for profile in result.modes}) > 1:
        # Of a suite one that failed is missing, and the rest is a repeat all the same.
        result.modes = ()
    if len(names) == 1:
        result.facts.append(("System", quoted(names.pop(), 200).strip('"')))
    kernels = (kernel_of(entry.text("Software")) for entry in document.systems)
    result.printed_kernels = tuple(dict.fromkeys(filter(None, kernels)))
    collector.finish("The file holds no result that is a rate or a time.", 1)
    for value in result.values:
        if (date := _date(document, places, value.configuration)) is not None:
            result.dates[own_key(value)] = date
    return result


def _date(document: _Document, places: dict[str, System], configuration: str) -> PrintedDate | None:
    """When the system of a configuration was measured; else when the file was last written."""
    for entry, name in (
        *(
            (system, "TimeStamp")
            for system in document.systems
            if _is_of(system, places, configuration)
        ),
        (document.generated, "LastModified"),
    ):
        if text := entry.text(name):
            return printed_date(f"{name}: {text}", text, entry.line(name), datetime.fromisoformat)
    return None


def _is_of(system: _Entry, places: dict[str, System], configuration: str) -> bool:
    place = places.get(system.text("Identifier"))
    return place is not None and place.name == configuration


def _keep(
    collector: Collector, result: _Result, places: dict[str, System], tests: TestNames
) -> None:
    name = " ".join(filter(None, (result.text("Identifier") or result.text("Title"),)))
    name = re.sub(r"^(?:pts|local|system)/", "", _VERSIONED.sub("", name))
    line = result.line("Scale") or result.line("Identifier") or None
    unit = unit_of(result.text("Scale"), result.text("Proportion"))
    test = tests.name(name or result.text("Title"), result.text("Description"), unit)
    if not unit:
        scale = quoted(result.text("Scale") or "nothing")
        collector.warn(
            line, f"{test} is measured in {scale}, which is no rate and no time: left out."
        )
        return
    if _VERSIONED.search(result.text("Identifier")):
        # Another version of a profile measures something else (the suite's documentation).
        collector.made_with([result.text("Identifier")[:200]])
    for entry in result.entries:
        text = entry.text("Value")
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", text):
            if text:
                message = f"{test}: {quoted(text)} is no single number; it stays missing."
                collector.warn(entry.line("Value"), message)
            continue
        place = places[entry.text("Identifier")]
        raw = [number(word) for word in entry.text("RawString").split(":") if "," not in word]
        collector.add(
            test,
            text,
            unit,
            entry.line("Value"),
            samples=[value for value in raw if value is not None],
            configuration=place.name,
            filesystem=place.filesystem,
        )


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
            message = f"The XML has more than {_MAX_DEPTH} levels: this is no result file."
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
