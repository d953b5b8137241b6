"""What a run shows next to its benchmark: mkfs and mount, layouts of files, steady tests. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fsbench_web.catalog.configurations.commands.preparation import LAYOUT_OUTPUTS
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.scoring.testnames import CREATION_TESTS, at_load


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


_NUMBERS = ("files", "bytes", "extents", "most_extents", "fragmented_files")


def layouts_in(outputs: Mapping[str, bytes]) -> dict[str, Any]:
    """``{"before": {"files": 9, "bytes": 4096, "extents": 12, ...}, "after": ...}`` of the layouts
    among the outputs; a file system that does not say where its files lie has none.
    """
    layouts: dict[str, Any] = {}
    for name, when in zip(LAYOUT_OUTPUTS, ("before", "after"), strict=True):
        first = outputs.get(name, b"").partition(b"\n")[0]
        try:
            layout = json.loads(first)["fsbench-layout"]
            if layout is not None:
                layouts[when] = {key: int(layout[key]) for key in _NUMBERS}
                layouts[when]["is_cut"] = bool(layout["is_cut"])
        except (ValueError, KeyError, TypeError):
            continue
    return layouts


def steady_tests(values: Iterable[ParsedValue]) -> dict[str, list[str]]:
    """``{"attained": [test with its load, ...], "missed": [...]}``; empty where none was to."""
    tests: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for value in values:
        if value.is_steady is not None:
            tests[value.is_steady][at_load(value.test, value.load)] = None
    if not any(tests.values()):
        return {}
    return {"attained": list(tests[True]), "missed": list(tests[False])}
