"""Files and what was said about them -> the runs they are. No database."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.text import slugify

from fsbench_web.catalog.labels import parse_label
from fsbench_web.formats import ParsedResult, ParsedValue, UnreadableFile, parse
from fsbench_web.imports.problems import ImportProblem, ImportRefused
from fsbench_web.scoring.units import UnknownUnit, lower_is_better

_FILESYSTEM = re.compile("[a-z0-9][a-z0-9_-]{0,39}")
_LABEL = re.compile("[a-z0-9][a-z0-9_-]{0,119}")

Cell = tuple[str, str, int | None, int | None, float, str]
"""Test, load, record size KB, file size KB, value, unit."""


@dataclass(frozen=True)
class Target:
    """What the user says of the files. A table's own columns go before it."""

    study: str
    filesystem: str = ""
    configuration: str = ""
    hardware: str = ""

    def study_slug(self) -> str:
        return slugify(self.study)[:100]

    def hardware_slug(self) -> str:
        return slugify(self.hardware)[:100]


@dataclass
class PlannedRun:
    """One run to be: the numbers of a file that belong to one repeat of one configuration."""

    file: str
    filesystem: str
    configuration: str
    hardware: str
    repeat: int | None
    parsed: ParsedResult
    values: list[ParsedValue] = field(default_factory=list)

    @property
    def content(self) -> frozenset[Cell]:
        """What makes two runs the same measurement, whatever their files look like."""
        return frozenset(
            (v.test, v.load, v.record_size_kb, v.file_size_kb, v.value, v.unit) for v in self.values
        )


@dataclass
class PlannedFile:
    """One file, read."""

    name: str
    data: bytes
    parsed: ParsedResult
    runs: list[PlannedRun]


def plan_files(files: Sequence[tuple[str, bytes]], target: Target) -> list[PlannedFile]:
    """The runs in all files, in the order given. Raises ImportRefused with every problem."""
    problems = _target_problems(target)
    if not files:
        problems.append(ImportProblem("No file was given."))
    planned = []
    for name, data in files:
        try:
            parsed = parse(name, data)
        except UnreadableFile as error:
            problems += [ImportProblem(p.message, name, p.line, p.column) for p in error.problems]
            continue
        problems += _unit_problems(name, parsed)
        runs = _runs_of(name, parsed, target)
        problems += [problem for run in runs for problem in _run_problems(run)]
        planned.append(PlannedFile(name, data, parsed, runs))
    if problems:
        raise ImportRefused(list(dict.fromkeys(problems)))
    return planned


def _target_problems(target: Target) -> list[ImportProblem]:
    problems = []
    if not target.study:
        problems.append(ImportProblem("study is missing: name the study the results belong to."))
    elif not target.study_slug():
        message = f'study "{target.study}" needs a Latin letter or a digit, for its address.'
        problems.append(ImportProblem(message))
    for name, text in vars(target).items():
        if not text.isprintable():
            problems.append(ImportProblem(f"{name} holds a character that cannot be shown."))
    if len(target.study) > 200:
        problems.append(ImportProblem("The study's name has more than 200 characters."))
    return problems


def _unit_problems(name: str, parsed: ParsedResult) -> list[ImportProblem]:
    """Units nobody can rank, each at its first line."""
    problems = []
    units: dict[str, int] = {}
    for value in parsed.values:
        units.setdefault(value.unit, value.line)
    for unit, line in units.items():
        try:
            lower_is_better(unit)
        except UnknownUnit as error:
            problems.append(ImportProblem(str(error), name, line))
    return problems


def _runs_of(name: str, parsed: ParsedResult, target: Target) -> list[PlannedRun]:
    runs: dict[tuple[str, str, str, int | None], PlannedRun] = {}
    for value in parsed.values:
        filesystem = (value.filesystem or target.filesystem).strip().lower()
        configuration = (value.configuration or target.configuration).strip()
        hardware = (value.hardware or target.hardware).strip()
        key = (filesystem, configuration, hardware, value.repeat)
        if key not in runs:
            runs[key] = PlannedRun(name, *key, parsed)
        runs[key].values.append(value)
    return list(runs.values())


def _run_problems(run: PlannedRun) -> list[ImportProblem]:
    line = run.values[0].line
    own_filesystem = bool(run.values[0].filesystem)
    own_label = bool(run.values[0].configuration)
    problems = []

    def refuse(message: str, in_file: bool) -> None:
        place = {"file": run.file, "line": line} if in_file else {}
        problems.append(ImportProblem(message, **place))  # type: ignore[arg-type]

    if not run.filesystem:
        refuse("filesystem is missing: say which file system was measured, such as ext4.", False)
    elif not _FILESYSTEM.fullmatch(run.filesystem):
        refuse(
            f'filesystem "{run.filesystem}" is not a name such as ext4 or xfs: letters, digits, '
            "- and _ are allowed, 40 at most.",
            own_filesystem,
        )
    if not run.configuration:
        refuse(
            "configuration is missing: give it a short label, such as ext4_noatime, or ext4 "
            "where everything was left at its default.",
            False,
        )
    elif not _LABEL.fullmatch(run.configuration):
        refuse(
            f'configuration "{run.configuration}" is not a label such as ext4_noatime: lower-case '
            "letters, digits, - and _ are allowed, 120 at most.",
            own_label,
        )
    elif (
        _FILESYSTEM.fullmatch(run.filesystem)
        and (parts := parse_label(run.configuration)) is not None
        and parts.filesystem != run.filesystem
    ):
        refuse(
            f"configuration {run.configuration} is one of {parts.filesystem}, and the file system "
            f"is said to be {run.filesystem}.",
            own_label or own_filesystem,
        )
    if run.hardware and not slugify(run.hardware):
        refuse(f'hardware "{run.hardware}" needs a Latin letter or a digit.', False)
    if len(run.hardware) > 200:
        refuse("The name of the hardware has more than 200 characters.", False)
    return problems
