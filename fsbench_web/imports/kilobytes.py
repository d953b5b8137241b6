"""What KB, MB and GB are in files whose tool does not say it: asked, and written into the unit."""

from collections.abc import Iterable

from fsbench_web.core.formats.result import Problem
from fsbench_web.core.formats.tables.file_numbers import FileNumbers
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


def explained(numbers: FileNumbers, tool: str, kilobyte: str) -> tuple[FileNumbers, list[Problem]]:
    """Numbers with the units that ``kilobyte`` says; without it, which units are in doubt."""
    lines = numbers.units()
    units = open_units(lines, tool)
    if kilobyte:
        return numbers.with_units({unit: explicit_unit(unit, int(kilobyte)) for unit in units}), []
    return numbers, [Problem(lines[unit], None, doubt(unit), is_note=True) for unit in units]


def doubt(unit: str) -> str:
    """A unit that may be of either, in a sentence."""
    return (
        f"{unit} may be of 1,000 or of 1,024 bytes, and nothing says which: it is kept as printed "
        "and converted to no other unit, unless the import says it (kilobyte)."
    )


def open_units(units: Iterable[str], tool: str = "") -> list[str]:
    """Those that may be of either, each once."""
    return [unit for unit in dict.fromkeys(units) if is_ambiguous(unit, tool)]
