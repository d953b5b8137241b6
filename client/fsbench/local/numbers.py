"""The numbers of files as a table with units: rows, CSV, Parquet, pandas, Polars, Arrow."""

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NamedTuple

from fsbench.frames import Frames, library
from fsbench.local import files, reading
from fsbench.local.problems import FileProblem, NothingToRead
from fsbench_web.core import number_tables
from fsbench_web.core.number_tables import RunNumbers
from fsbench_web.core.numbers import as_text

if TYPE_CHECKING:
    import pyarrow

_OF_RUNS = ("filesystem", "configuration", "hardware", "repeat", "block", "kernel")
"""The columns that ``OwnKey`` fills."""


class Number(NamedTuple):
    """One number that a tool printed. Sizes are KB of 1024 bytes; None: there is none."""

    file: str
    line: int | None
    tool: str
    test: str
    load: str
    record_size_kb: int | None
    file_size_kb: int | None
    value: float
    unit: str
    filesystem: str
    configuration: str
    hardware: str
    kernel: str
    repeat: int | None
    block: str


@dataclass(frozen=True)
class Numbers(Frames):
    """All numbers of some files. Iterate over it for one ``Number`` after another."""

    results: tuple[reading.FileResult, ...]
    problems: tuple[FileProblem, ...]

    def __len__(self) -> int:
        return sum(len(result.numbers) for result in self.results)

    def __iter__(self) -> Iterator[Number]:
        for run in self._runs():
            for (test, load, unit), record_kb, file_kb, value, line in run.columns.rows():
                yield Number(
                    **run.facts,
                    test=test,
                    load=load,
                    record_size_kb=record_kb,
                    file_size_kb=file_kb,
                    value=value,
                    unit=unit,
                    line=line if line is not None and line > 0 else None,
                )

    def to_csv(self, file: IO[str]) -> None:
        """Write a header and a line for each number, with text that no spreadsheet runs."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Number._fields)
        for number in self:
            writer.writerow([as_text(one) if isinstance(one, str) else one for one in number])

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        """The numbers as batches of Arrow. Needs pyarrow."""
        library("pyarrow")
        return number_tables.batches_of(self._runs(), number_tables.schema_of(Number._fields))

    def _runs(self) -> Iterator[RunNumbers]:
        for result in self.results:
            of_file = {"file": result.file.path, "tool": result.parsed.tool}
            for key, columns, _ in result.numbers.runs():
                yield RunNumbers(of_file | dict(zip(_OF_RUNS, key, strict=True)), columns)


def read(*paths: str | os.PathLike[str]) -> Numbers:
    """All numbers of files, folders and archives, as their tools printed them.

    Raises NothingToRead with all problems where no file holds a number.
    """
    found = reading.read_files(files.find(paths))
    if not any(len(result.numbers) for result in found.results):
        raise NothingToRead(found.problems)
    return Numbers(tuple(found.results), tuple(found.problems))
