"""The CSV that ``phoronix-test-suite result-file-to-csv`` writes, of version 9 and later.

Title, a table of the systems, and a row a result: its name with its unit, HIB or LIB, and a value
a system. Older versions wrote no unit, so their numbers cannot be kept. Source: files written by
versions 8 to 10.
"""

import csv
import re

from fsbench_web.core.formats.phoronix.names import System, TestNames, kernel_of, place_of, unit_of
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, reads

_HEADER = re.compile(r'^[^\S\t]*+"?[^\S\t]*+"?([,;\t])\1?\s*+"[^"]+"')
_RESULT = re.compile(r'^"(?=(?:[^"]|"")+ - )(?:[^"]|"")*"[^\S\t]*+([,;\t])')
_NAME = re.compile(r"(?>(.+?) - )(.*(?<!\s)|)\s*\(([^()]*)\)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


def _recognises(lines: list[str]) -> bool:
    """Whether a row of systems is there, and below it a row with the name of a result."""
    header = next((index for index, line in enumerate(lines) if _HEADER.match(line)), None)
    return header is not None and any(_RESULT.match(line) for line in lines[header + 1 :])


@reads("phoronix-csv", "phoronix", _recognises)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All results that are rates or times. Raises UnreadableFile where no unit is given."""
    result = collector.result
    names: list[str] = []
    filesystems: list[str] = []
    places: list[System] = []
    tests = TestNames()
    for line_number, line in enumerate(lines, start=1):
        if (header := _HEADER.match(line)) is not None:
            names = [name for name in _fields(line, header[1]) if name]
        elif names and re.match(r"(?i)file-?system\b", line):
            mark = _delimiter(line)
            filesystems = [text.lower() for text in _fields(line, mark)[-len(names) :]]
        elif names and re.match(r"(?i)kernel\b", line):
            fields = _fields(line, _delimiter(line))[-len(names) :]
            kernels = (kernel_of(f"Kernel: {text}") for text in fields)
            result.printed_kernels = tuple(dict.fromkeys(filter(None, kernels)))
        elif names and (row := _RESULT.match(line)) is not None:
            if not places or len(places) != len(names):
                systems = [
                    System(name, filesystem)
                    for name, filesystem in zip(names, filesystems, strict=False)
                ]
                several = len(names) > 1
                places = [place_of(name, systems, several=several) for name in names]
            _row(collector, _fields(line, row[1]), places, tests, line_number)
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


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return [text.strip() for text in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _row(
    collector: Collector, fields: list[str], places: list[System], tests: TestNames, line: int
) -> None:
    name = _NAME.fullmatch(fields[0]) if fields else None
    proportion = fields[1] if len(fields) > 1 and fields[1] in ("HIB", "LIB") else ""
    if name is None or not proportion:
        text = quoted(fields[0] if fields else "")
        collector.warn(line, f"{text} comes without a unit, or without HIB or LIB: left out.")
        return
    unit = unit_of(name[3], proportion)
    test = tests.name(name[1], name[2], unit)
    if not unit:
        collector.warn(
            line, f"{test} is measured in {quoted(name[3])}, no rate and no time: left out."
        )
        return
    values = fields[2:]
    if len(values) != len(places):
        message = f"Found {len(values)} values, expected {len(places)}, one for each system."
        collector.refuse(line, message)
        return
    for text, place in zip(values, places, strict=True):
        if _NUMBER.fullmatch(text):
            collector.add(
                test,
                text,
                unit,
                line,
                configuration=place.name,
                filesystem=place.filesystem,
            )
        elif text:
            collector.warn(line, f"{test}: {quoted(text)} is no number; it stays missing.")
