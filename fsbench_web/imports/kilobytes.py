"""What KB, MB and GB are in files whose tool does not say it: asked, and written into the unit."""

from collections.abc import Iterable
from dataclasses import replace

from fsbench_web.core.formats.result import ParsedResult, Problem
from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.units import explicit_unit, is_ambiguous
from fsbench_web.imports.problems import ImportProblem, refusal

ANSWERS = {
    "": "Not known: kept as printed",
    "1024": "1,024 bytes (KiB, MiB, GiB)",
    "1000": "1,000 bytes (kB, and MB and GB of the SI)",
}
"""What ``Target.kilobyte`` may say, in words."""


def refused(kilobyte: str) -> ImportProblem:
    """Of an answer that is none of ANSWERS."""
    return refusal("kilobyte_open", field="kilobyte", found=kilobyte[:60])


def explain(parsed: ParsedResult, kilobyte: str) -> None:
    """Write units that may be of either as ``kilobyte`` says; where it says nothing, note them."""
    if not kilobyte:
        parsed.warnings += doubts(parsed)
        return
    units = {unit: explicit_unit(unit, int(kilobyte)) for unit in _open(parsed)}
    if units:
        parsed.values = [
            replace(value, unit=units[value.unit]) if value.unit in units else value
            for value in parsed.values
        ]


def renamed(columns: MeasurementColumns, kilobyte: str) -> MeasurementColumns:
    """The same for the columns of a table."""
    if not kilobyte or not open_units(test.unit for test in columns.tests):
        return columns
    tests = [
        test._replace(unit=explicit_unit(test.unit, int(kilobyte)))
        if is_ambiguous(test.unit)
        else test
        for test in columns.tests
    ]
    return replace(columns, tests=tests)


def doubts(parsed: ParsedResult) -> list[Problem]:
    """The units of which nobody knows what they are, each at its first line."""
    return [Problem(line, None, doubt(unit), is_note=True) for unit, line in _open(parsed).items()]


def doubt(unit: str) -> str:
    """A unit that may be of either, in a sentence."""
    return (
        f"{unit} may be of 1,000 or of 1,024 bytes, and nothing says which: it is kept as printed "
        "and converted to no other unit, unless the import says it (kilobyte)."
    )


def open_units(units: Iterable[str], tool: str = "") -> list[str]:
    """Those that may be of either, each once."""
    return [unit for unit in dict.fromkeys(units) if is_ambiguous(unit, tool)]


def _open(parsed: ParsedResult) -> dict[str, int]:
    """The first line of each."""
    lines: dict[str, int] = {}
    for value in parsed.values:
        lines.setdefault(value.unit, value.line)
    return {unit: lines[unit] for unit in open_units(lines, parsed.tool)}
