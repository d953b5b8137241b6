"""What of a command line and of printed settings makes two outputs the same workload. Pure.

Each format names the options that may differ between repeats. All others make another workload: a
false difference splits a series, a false repeat spoils a result.
"""

import re
import shlex
from collections.abc import Collection, Sequence

from fsbench_web.core.formats.result import ParsedResult

_LONGEST = 200
_NEGATIVE = re.compile(r"-[0-9.]+")


def of_command(command: str, may_differ: Collection[str]) -> tuple[str, ...]:
    """The options of a command line that are part of the workload, with their values, sorted.

    ``may_differ``: "-d", "--log", or "-O log" for the "-O log=…" of an option that says many
    things.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    options: list[list[str]] = []
    for word in words:
        if word.startswith("-") and len(word) > 1 and not _NEGATIVE.fullmatch(word):
            options.append(_parts(word))
        elif options:
            options[-1].append(word)
    settings = {
        " ".join(option)[:_LONGEST]
        for option in options
        if not {option[0], " ".join(option[:2]).partition("=")[0]} & {*may_differ}
    }
    return tuple(sorted(settings))


def _parts(word: str) -> list[str]:
    """An option, and the value that is written together with it: -i2, -G=27, --log=/tmp/x."""
    if word.startswith("--"):
        name, _, value = word.partition("=")
    else:
        name, value = word[:2], word[2:].removeprefix("=")
    return [name, value] if value else [name]


def differences(results: Sequence[ParsedResult]) -> list[list[str]]:
    """For each result the settings that not all of them have; empty lists where all are alike."""
    shared = (
        set(results[0].modes).intersection(*(result.modes for result in results)) if results else ()
    )
    return [[mode for mode in result.modes if mode not in shared] for result in results]
