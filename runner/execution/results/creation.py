"""How long making and mounting a file system took, as tests of their own. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.scoring.testnames import CREATION_TESTS


def creation_values(commands: Sequence[Mapping[str, Any]]) -> list[ParsedValue]:
    """The wall-clock seconds of mkfs and mount, each with its line in the record of commands. A
    phase without a command, or with a failed one, has no value.
    """
    values = []
    for test in CREATION_TESTS:
        phase_commands = [
            (line, command)
            for line, command in enumerate(commands, start=1)
            if command["phase"] == test
        ]
        # A workload may have the file system mounted anew: what counts is the mount of a new one.
        if phase_commands and phase_commands[0][1]["exit_code"] == 0:
            line, command = phase_commands[0]
            values.append(ParsedValue(test, None, None, float(command["duration_s"]), "s", line))
    return values
