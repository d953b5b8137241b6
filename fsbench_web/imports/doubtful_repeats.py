"""Repeats of which nothing says that they are some: refused until somebody says so. No database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fsbench_web.core.formats import repeat_doubts
from fsbench_web.core.formats.result import Problem
from fsbench_web.imports import guesses
from fsbench_web.imports.problems import ImportProblem

if TYPE_CHECKING:
    from fsbench_web.imports.plan import PlannedFile, PlannedRun

ADVICE = "Give each its own configuration, or say that they are repeats (repeats_differ)."


def refuse(files: Sequence[PlannedFile]) -> None:
    """Add a problem to each file whose numbers would be repeats, and may be none."""
    groups: dict[tuple[object, ...], list[PlannedRun]] = defaultdict(list)
    by_path = {file.path: file for file in files}
    for file in files:
        for doubt in file.parsed.doubts if file.parsed else ():
            file.problems.append(_problem(doubt, file.path))
        for run in file.runs:
            if run.repeat is None and not run.values[0].configuration:
                key = (run.filesystem, run.configuration, run.hardware, run.block, run.kernel)
                groups[(*key, run.parsed.tool, run.parsed.modes)].append(run)
    for runs in groups.values():
        if (found := _other_name(runs) or _far_apart(runs)) is not None:
            file_name, doubt = found
            by_path[file_name].problems.append(_problem(doubt, file_name))


def _problem(doubt: Problem, path: str) -> ImportProblem:
    return ImportProblem.of(replace(doubt, message=f"{doubt.message} {ADVICE}"), path)


def _other_name(runs: Sequence[PlannedRun]) -> tuple[str, Problem] | None:
    """The first file with another name before its number: base-1, base-2, caching-1."""
    named = [(run.file, guesses.name_before_number(run.file)) for run in runs]
    if not all(name for _, name in named):
        return None
    first_file, first = named[0]
    for file, name in named:
        if name != first:
            message = f"{file} and {first_file} would be repeats, and are called otherwise."
            return file, Problem(None, None, message, code=repeat_doubts.CODE)
    return None


def _far_apart(runs: Sequence[PlannedRun]) -> tuple[str, Problem] | None:
    """The file with the number that is farthest from that of another file."""
    if len({run.file for run in runs}) < 2:
        return None
    files = {id(value): run.file for run in runs for value in run.values}
    pair = repeat_doubts.far_apart(value for run in runs for value in run.values)
    if pair is None or files[id(pair[0])] == files[id(pair[1])]:
        return None
    first, second = pair
    place = f"line {first.line} of {files[id(first)]}"
    return files[id(second)], repeat_doubts.apart(pair, place, second.line)
