"""What is wrong with what is said of results: of all files, of a run, of units and of columns."""

import re
from collections.abc import Iterable

from fsbench_web.catalog.configurations.labels import parse_label
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.units import UnknownUnit, lower_is_better
from fsbench_web.imports import kilobytes
from fsbench_web.imports.problems import ImportProblem
from fsbench_web.imports.sources import FOLDERS, SourceFile, Target
from fsbench_web.platform import plain_text
from fsbench_web.platform.names import slug_of

_FILESYSTEM = re.compile("[a-z0-9][a-z0-9_-]{0,39}")
_LABEL = re.compile("[a-z0-9][a-z0-9_-]{0,119}")
MAX_KERNEL = 200


def target_problems(target: Target) -> list[ImportProblem]:
    """What is wrong with what was said of all files together."""
    problems = []
    if not target.study:
        problems.append(ImportProblem("study is missing: name the study the results belong to."))
    elif not target.study_slug():
        message = f'study "{target.study}" needs a Latin letter or a digit, for its address.'
        problems.append(ImportProblem(message))
    for name, text in target.texts.items():
        if problem := plain_text.problem(text):
            problems.append(
                ImportProblem(f"{name} holds a character that cannot be shown. {problem}")
            )
    if len(target.study) > 200:
        problems.append(ImportProblem("The study's name has more than 200 characters."))
    if target.kilobyte not in kilobytes.ANSWERS:
        problems.append(kilobytes.refusal(target.kilobyte))
    if target.blocks not in ("", FOLDERS):
        message = f'blocks is "{target.blocks[:60]}"; it can be {FOLDERS}, or left out.'
        problems.append(ImportProblem(message))
    for name in ("source", "licence"):
        if len(getattr(target, name)) > 500:
            problems.append(ImportProblem(f"{name} has more than 500 characters."))
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

    def refuse(message: str, in_file: bool) -> None:
        file, line = place if in_file else (None, None)
        problems.append(ImportProblem(message, file, line))

    if not filesystem:
        refuse("filesystem is missing: say which file system was measured, such as ext4.", False)
    elif not _FILESYSTEM.fullmatch(filesystem):
        refuse(
            f'filesystem "{filesystem}" is not a name such as ext4 or xfs: letters, digits, '
            "- and _ are allowed, 40 at most.",
            own_filesystem,
        )
    if not configuration:
        refuse(
            "configuration is missing: give it a short label, such as ext4_noatime, or ext4 "
            "where everything was left at its default.",
            False,
        )
    elif not _LABEL.fullmatch(configuration):
        refuse(
            f'configuration "{configuration}" is not a label such as ext4_noatime: lower-case '
            "letters, digits, - and _ are allowed, 120 at most.",
            own_label,
        )
    elif (
        _FILESYSTEM.fullmatch(filesystem)
        and (parts := parse_label(configuration)) is not None
        and parts.filesystem != filesystem
    ):
        refuse(
            f"configuration {configuration} is one of {parts.filesystem}, and the file system "
            f"is said to be {filesystem}.",
            own_label or own_filesystem,
        )
    if hardware and not slug_of(hardware):
        refuse(f'hardware "{hardware}" needs a Latin letter or a digit.', False)
    if problem := plain_text.problem(hardware):
        refuse(f"hardware holds a character that cannot be shown. {problem}", False)
    if len(hardware) > 200:
        refuse("The name of the hardware has more than 200 characters.", False)
    if problem := plain_text.problem(kernel):
        refuse(f"kernel holds a character that cannot be shown. {problem}", False)
    if len(kernel) > MAX_KERNEL:
        refuse(f"The kernel's release has more than {MAX_KERNEL} characters.", False)
    return problems


def unit_problems(name: str, units: dict[str, int]) -> list[ImportProblem]:
    """Units nobody can rank, each at its first line: ``units`` to lines."""
    problems = []
    for unit, line in units.items():
        try:
            lower_is_better(unit)
        except UnknownUnit as error:
            problems.append(ImportProblem(str(error), name, line))
    return problems


def unread_columns(
    columns: Iterable[tuple[int, str]], source: SourceFile
) -> tuple[list[ImportProblem], list[ImportProblem]]:
    """Columns, (line, name), that nothing reads: the warnings of them, and the problems that those
    are that nobody named, where somebody named any that are to be ignored.
    """
    ignored = source.description.ignored
    warnings, problems = [], []
    for line, word in columns:
        if word in (ignored or ()):
            message = f"Column {quoted(word)} is not read, as the import says."
            warnings.append(ImportProblem(message, source.path, line, is_note=True))
            continue
        message = f"Column {quoted(word)} is not one that fsbench keeps."
        if ignored is None:
            warnings.append(ImportProblem(message, source.path, line))
        else:
            message += (
                " Say that it is left out (the tick of the preview, or ignore_columns of a call), "
                "or which column it is."
            )
            problems.append(ImportProblem(message, source.path, line))
    return warnings, problems
