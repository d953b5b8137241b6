"""What a run is said to be of: names and labels that can be, or what is wrong with them."""

import re

from fsbench_web.catalog.configurations.labels import parse_label
from fsbench_web.imports.problems import ImportProblem
from fsbench_web.platform import plain_text
from fsbench_web.platform.names import slug_of

_FILESYSTEM = re.compile("[a-z0-9][a-z0-9_-]{0,39}")
_LABEL = re.compile("[a-z0-9][a-z0-9_-]{0,119}")


def label_problems(
    filesystem: str,
    configuration: str,
    hardware: str,
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
    return problems
