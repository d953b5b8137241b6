"""All numbers of a file as columns, run after run: 26 bytes a number. Pure."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from fsbench_web.core.formats.result import (
    OwnKey,
    ParsedResult,
    ParsedValue,
    Problem,
    UnreadableFile,
    own_key,
)
from fsbench_web.core.formats.tables.problems import problem
from fsbench_web.core.measurement_columns import (
    NONE,
    Column,
    MeasuredTest,
    MeasurementColumns,
    joined_columns,
    no_columns,
    of_rows,
)
from fsbench_web.core.units import explicit_unit, is_ambiguous

_NEVER = np.iinfo(np.int64).max
Samples = dict[int, list[float]]
"""Values of the intervals, by the place of their number."""


@dataclass(frozen=True)
class FileNumbers:
    """All numbers, run after run; ``keys`` say what each run is of, ``ends`` where it ends."""

    columns: MeasurementColumns
    keys: Sequence[OwnKey]
    ends: Sequence[int]
    samples: Samples = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns)

    def runs(self) -> Iterator[tuple[OwnKey, MeasurementColumns, Samples]]:
        """The numbers of each run, with their samples."""
        places = sorted(self.samples)
        for key, (start, end) in zip(self.keys, pairwise([0, *self.ends]), strict=True):
            found = places[bisect_left(places, start) : bisect_left(places, end)]
            samples = {place - start: self.samples[place] for place in found}
            yield key, self.columns.subset(slice(start, end)).pruned(), samples

    def units(self) -> dict[str, int]:
        """The first line of each unit, in the order of these lines."""
        columns, lines = self.columns, dict[str, int]()
        first = np.full(len(columns.tests), _NEVER)
        np.minimum.at(first, columns.codes, columns.lines)
        for code in np.argsort(first, kind="stable").tolist():
            if first[code] < _NEVER:
                lines.setdefault(columns.tests[code].unit, int(first[code]))
        return lines

    def open_units(self, tool: str) -> list[str]:
        """Units that may be of 1,000 or of 1,024 bytes in results of a tool."""
        return [unit for unit in self.units() if is_ambiguous(unit, tool)]

    def explained(self, tool: str, kilobyte: str) -> "FileNumbers":
        """The same numbers with open units called as somebody says that they are."""
        names = {unit: explicit_unit(unit, int(kilobyte)) for unit in self.open_units(tool)}
        tests = [test._replace(unit=names.get(test.unit, test.unit)) for test in self.columns.tests]
        places = {test: place for place, test in enumerate(dict.fromkeys(tests))}
        codes = np.array([places[test] for test in tests])[self.columns.codes]
        return replace(self, columns=replace(self.columns, tests=list(places), codes=codes))

    def regrouped(self, keys: Sequence[OwnKey]) -> "FileNumbers":
        """The same numbers in runs of other names; runs with one name become one, by line."""
        if len(set(keys)) == len(keys):
            return replace(self, keys=keys)
        counts = np.diff(np.array([0, *self.ends]))
        order = np.argsort(self.columns.lines, kind="stable")
        new = np.argsort(order)
        samples = {int(new[place]): values for place, values in self.samples.items()}
        runs = np.repeat(np.arange(len(counts)), counts)[order]
        return in_runs(self.columns.subset(order), keys, runs, samples)

    def by_run(self, runs: Mapping[OwnKey, int]) -> dict[int, tuple[MeasurementColumns, Samples]]:
        """The numbers of each run, by what the file calls it; the others are left out."""
        found = self.regrouped([("", "", "", runs.get(key), "", "") for key in self.keys]).runs()
        return {key[3]: (columns, samples) for key, columns, samples in found if key[3] is not None}

    def without_kernels(self) -> "FileNumbers":
        """The same numbers of runs that no kernel tells apart."""
        return self.regrouped([(*key[:5], "") for key in self.keys])

    def values(self) -> list[ParsedValue]:
        """The numbers one by one, in the order of their lines."""
        runs = self.runs()
        values = [value for key, columns, _ in runs for value in run_values(columns, key)]
        return sorted(values, key=lambda value: value.line)


def run_values(
    columns: MeasurementColumns, key: OwnKey = ("", "", "", None, "", "")
) -> Iterator[ParsedValue]:
    """The numbers of a run one by one, without samples."""
    filesystem, configuration, hardware, repeat, block, kernel = key
    for test, record_kb, file_kb, value, line in columns.rows():
        yield ParsedValue(
            *(test.test, record_kb, file_kb, value, test.unit, NONE if line is None else line),
            *(filesystem, configuration, hardware, repeat, test.load),
            block=block,
            kernel=kernel,
        )


@dataclass
class ParsedTable(ParsedResult):
    """A table: its ``numbers`` are columns, and ``values`` is empty."""

    numbers: FileNumbers = field(kw_only=True)

    @property
    def count(self) -> int:
        return len(self.numbers)

    def without_kernels(self) -> "ParsedTable":
        """The same where the columns of kernels are some that nothing reads; empty ones stay."""
        if not any(key[5] for key in self.numbers.keys):
            return self
        return replace(
            self,
            numbers=self.numbers.without_kernels(),
            unread_columns=sorted({*self.unread_columns, *self.kernel_columns}),
            kernel_columns=[],
        )


def in_runs(
    columns: MeasurementColumns,
    keys: Sequence[OwnKey],
    places: Column,
    samples: Samples | None = None,
) -> FileNumbers:
    """The numbers in runs: each belongs to the run that ``keys`` has at its place."""
    known = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    runs = np.array([known[key] for key in keys], dtype=np.int64)[places]
    order = np.argsort(runs, kind="stable")
    counts = np.bincount(runs, minlength=len(known))
    moved = np.argsort(order) if samples else order
    return FileNumbers(
        columns.subset(order),
        [key for key, count in zip(known, counts.tolist(), strict=True) if count],
        np.cumsum(counts)[counts > 0].tolist(),
        {int(moved[place]): values for place, values in (samples or {}).items()},
    )


def joined_outputs(
    parts: Sequence[tuple[MeasurementColumns, Mapping[int, Any]]],
) -> tuple[MeasurementColumns, Samples]:
    """The numbers of several outputs of one run, with their samples."""
    samples: Samples = {}
    start = 0
    for columns, of_part in parts:
        samples |= {start + place: values for place, values in of_part.items()}
        start += len(columns)
    return joined_columns([columns for columns, _ in parts] or [no_columns()]), samples


def joined(parts: Sequence[FileNumbers]) -> FileNumbers:
    """The numbers of several tables, which have no samples, as those of one."""
    keys = [key for part in parts for key in part.keys]
    counts = np.concatenate([np.diff(np.array([0, *part.ends])) for part in parts])
    columns = joined_columns([part.columns for part in parts])
    return in_runs(columns, keys, np.repeat(np.arange(len(keys)), counts))


def numbers_of(parsed: ParsedResult) -> FileNumbers:
    """All numbers of what was read, run after run."""
    if isinstance(parsed, ParsedTable):
        return parsed.numbers
    values = parsed.values
    if not values:
        return FileNumbers(no_columns(), [], [])
    columns = of_rows(
        (
            MeasuredTest(value.test, value.load, value.unit),
            *(value.record_size_kb, value.file_size_kb, value.value, value.line),
        )
        for value in values
    )
    samples = {place: list(value.samples) for place, value in enumerate(values) if value.samples}
    return in_runs(columns, list(map(own_key, values)), np.arange(len(values)), samples)


def merged_sheets(tables: Sequence[ParsedTable], warnings: list[Problem]) -> ParsedTable:
    """The tables of all sheets as one. Raises UnreadableFile for a cell that two sheets have."""
    first, *others = tables
    first.warnings = warnings
    if not others:
        return first
    first.numbers = joined([table.numbers for table in tables])
    for table in others:
        first.dates |= table.dates
        first.unread_columns += table.unread_columns
        first.kernel_columns += table.kernel_columns
    seen: dict[tuple[object, ...], int] = {}
    problems = []
    for value in first.numbers.values():
        sizes = value.record_size_kb, value.file_size_kb
        line = seen.setdefault((*own_key(value), value.test, value.load, *sizes), value.line)
        if line != value.line:
            problems.append(problem("cell_twice_in_sheets", value.line, first=line))
    if problems:
        raise UnreadableFile(problems[:100])
    return first
