"""What is wrong with what is said of results: of all files, of a run, of units and of columns."""

import re
from collections.abc import Iterable
from typing import Any

from fsbench_web.catalog.configurations.labels import parse_label
from fsbench_web.core.formats.result import Problem
from fsbench_web.core.formats.tables.file_numbers import FileNumbers
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.units import UnknownUnit, is_ambiguous, lower_is_better
from fsbench_web.imports.problems import ImportProblem, refusal
from fsbench_web.imports.sources import FOLDERS, YES, SourceFile, Target
from fsbench_web.platform import plain_text
from fsbench_web.platform.names import slug_of

_FILESYSTEM = re.compile("[a-z0-9][a-z0-9_-]{0,39}")
_LABEL = re.compile("[a-z0-9][a-z0-9_-]{0,119}")
MAX_KERNEL = 200
KILOBYTES = {
    "": "Not known: kept as printed",
    "1024": "1,024 bytes (KiB, MiB, GiB)",
    "1000": "1,000 bytes (kB, and MB and GB of the SI)",
}
"""What ``Target.kilobyte`` may say, in words."""


def target_problems(target: Target) -> list[ImportProblem]:
    problems = []
    if not target.study:
        problems.append(refusal("study_missing", field="study"))
    elif not target.study_slug():
        problems.append(refusal("no_address", field="study", found=target.study))
    for name, text in target.texts.items():
        if problem := plain_text.problem(text):
            problems.append(refusal("unshowable", field=name, reason=problem))
    if len(target.study) > 200:
        problems.append(refusal("too_long", field="study", most=200))
    if target.kilobyte not in KILOBYTES:
        problems.append(refusal("kilobyte_open", field="kilobyte", found=target.kilobyte[:60]))
    if target.blocks not in ("", FOLDERS):
        problems.append(
            refusal("not_a_choice", field="blocks", found=target.blocks[:60], expected=FOLDERS)
        )
    if target.repeats_differ not in ("", YES):
        found = target.repeats_differ[:60]
        problems.append(refusal("not_a_choice", field="repeats_differ", found=found, expected=YES))
    for name in ("source", "licence"):
        if len(getattr(target, name)) > 500:
            problems.append(refusal("too_long", field=name, most=500))
    return problems


def label_problems(
    filesystem: str,
    configuration: str,
    hardware: str,
    kernel: str,
    place: tuple[str | None, int | None] = (None, None),
    *,
    own_filesystem: bool = False,
    own_label: bool = False,
) -> list[ImportProblem]:
    """What is wrong with what a run is said to be of; with its place where the file says it."""
    problems = []

    def refuse(in_file: bool, code: str, field: str, **parameters: Any) -> None:
        file, line = place if in_file else (None, None)
        problems.append(refusal(code, file, line, field=field, **parameters))

    if not filesystem:
        refuse(False, "filesystem_missing", "filesystem")
    elif not _FILESYSTEM.fullmatch(filesystem):
        refuse(own_filesystem, "no_filesystem", "filesystem", found=filesystem)
    if not configuration:
        refuse(False, "configuration_missing", "configuration")
    elif not _LABEL.fullmatch(configuration):
        refuse(own_label, "no_configuration", "configuration", found=configuration)
    elif (
        _FILESYSTEM.fullmatch(filesystem)
        and (parts := parse_label(configuration)) is not None
        and parts.filesystem != filesystem
    ):
        refuse(
            own_label or own_filesystem,
            "other_filesystem",
            "configuration",
            found=configuration,
            own=parts.filesystem,
            said=filesystem,
        )
    if hardware and not slug_of(hardware):
        refuse(False, "no_address", "hardware", found=hardware)
    for name, text, most in (("hardware", hardware, 200), ("kernel", kernel, MAX_KERNEL)):
        if problem := plain_text.problem(text):
            refuse(False, "unshowable", name, reason=problem)
        if len(text) > most:
            refuse(False, "too_long", name, most=most)
    return problems


def unit_problems(name: str, units: dict[str, int]) -> list[ImportProblem]:
    """Units nobody can rank, each at its first line: ``units`` to lines."""
    problems = []
    for unit, line in units.items():
        try:
            lower_is_better(unit)
        except UnknownUnit as error:
            problems.append(refusal("unit_unknown", name, line, reason=str(error)))
    return problems


def unread_columns(
    columns: Iterable[tuple[int, str]], source: SourceFile
) -> tuple[list[ImportProblem], list[ImportProblem]]:
    """Warnings of columns, (line, name), that nothing reads, and problems of open ones."""
    ignored = source.description.ignored
    warnings, problems = [], []
    for line, word in columns:
        if word in (ignored or ()):
            warnings.append(
                refusal("column_ignored", source.path, line, is_note=True, found=quoted(word))
            )
        elif ignored is None:
            warnings.append(refusal("column_unread", source.path, line, found=quoted(word)))
        else:
            problems.append(refusal("column_unsaid", source.path, line, found=quoted(word)))
    return warnings, problems


def explained_units(
    numbers: FileNumbers, tool: str, kilobyte: str
) -> tuple[FileNumbers, list[Problem]]:
    """Numbers with the units that ``kilobyte`` says; without it, which units are in doubt."""
    if kilobyte:
        return numbers.explained(tool, kilobyte), []
    return numbers, [
        Problem(line, None, doubt(unit), is_note=True)
        for unit, line in numbers.units().items()
        if is_ambiguous(unit, tool)
    ]


def doubt(unit: str) -> str:
    return (
        f"{unit} may be of 1,000 or of 1,024 bytes, and nothing says which: it is kept as printed "
        "and converted to no other unit, unless the import says it (kilobyte)."
    )
