"""The numbers of files as a table with units: rows, CSV, Parquet, pandas, Polars, Arrow."""

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from fsbench.local import files, reading
from fsbench.local.problems import FileProblem, NothingToRead
from fsbench_web.core.formats.tables.file_numbers import run_values
from fsbench_web.core.numbers import as_text

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_ROWS_AT_ONCE = 65_536
_FIELDS = {
    "value": "in the unit of the column unit",
    "record_size_kb": "KB of 1024 bytes",
    "file_size_kb": "KB of 1024 bytes",
}
"""What the numbers of a column are in, for readers of Parquet."""


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


_OF_VALUES = Number._fields[3:]
_WHOLES = ("line", "record_size_kb", "file_size_kb", "repeat")


@dataclass(frozen=True)
class Numbers:
    """All numbers of some files. Iterate over it for one ``Number`` after another."""

    results: tuple[reading.FileResult, ...]
    problems: tuple[FileProblem, ...]

    def __len__(self) -> int:
        return sum(len(result.numbers) for result in self.results)

    def __iter__(self) -> Iterator[Number]:
        for result in self.results:
            for key, columns, _ in result.numbers.runs():
                for value in run_values(columns, key):
                    yield Number(
                        file=result.file.path,
                        line=value.line if value.line > 0 else None,
                        tool=result.parsed.tool,
                        **{name: getattr(value, name) for name in _OF_VALUES},
                    )

    def to_csv(self, file: IO[str]) -> None:
        """Write a header and a line for each number, with text that no spreadsheet runs."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Number._fields)
        for number in self:
            writer.writerow([as_text(one) if isinstance(one, str) else one for one in number])

    def to_arrow(self) -> "pyarrow.Table":
        """A table of Arrow, with units in the metadata of its fields. Needs pyarrow."""
        arrow = _module("pyarrow", "pyarrow")
        schema = _schema(arrow)
        return arrow.Table.from_batches(self._batches(arrow, schema), schema)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file. Needs pyarrow."""
        arrow, parquet = _module("pyarrow", "pyarrow"), _module("pyarrow.parquet", "pyarrow")
        schema = _schema(arrow)
        with parquet.ParquetWriter(os.fspath(path), schema) as writer:
            for batch in self._batches(arrow, schema):
                writer.write_batch(batch)

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame of pandas. Needs pandas."""
        pandas = _module("pandas", "pandas")
        frame = pandas.DataFrame.from_records(list(self), columns=Number._fields)
        return frame.astype(dict.fromkeys(_WHOLES, "Int64"))

    def to_polars(self) -> "polars.DataFrame":
        """A data frame of Polars. Needs polars."""
        polars = _module("polars", "polars")
        schema = _kinds(polars.Float64, polars.Int64, polars.String)
        return polars.DataFrame(list(self), schema=schema, orient="row")

    def _batches(self, arrow: Any, schema: Any) -> Iterator[Any]:
        rows: list[Number] = []
        for row in self:
            rows.append(row)
            if len(rows) == _ROWS_AT_ONCE:
                yield _batch(arrow, schema, rows)
                rows = []
        if rows:
            yield _batch(arrow, schema, rows)


def read(*paths: str | os.PathLike[str]) -> Numbers:
    """All numbers of files, folders and archives, as their tools printed them.

    Raises NothingToRead with all problems where no file holds a number.
    """
    found = reading.read_files(files.find(paths))
    if not any(len(result.numbers) for result in found.results):
        raise NothingToRead(found.problems)
    return Numbers(tuple(found.results), tuple(found.problems))


def _schema(arrow: Any) -> Any:
    return arrow.schema(
        arrow.field(name, kind, metadata={"unit": _FIELDS[name]} if name in _FIELDS else None)
        for name, kind in _kinds(arrow.float64(), arrow.int64(), arrow.string()).items()
    )


def _kinds(real: Any, whole: Any, text: Any) -> dict[str, Any]:
    """What the values of each column are, in the types of a library."""
    return dict.fromkeys(Number._fields, text) | dict.fromkeys(_WHOLES, whole) | {"value": real}


def _batch(arrow: Any, schema: Any, rows: list[Number]) -> Any:
    columns = zip(*rows, strict=True)
    arrays = [
        arrow.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)
    ]
    return arrow.RecordBatch.from_arrays(arrays, schema=schema)


def _module(name: str, extra: str) -> Any:
    """An optional library. Raises ImportError with what to install."""
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        text = f"This needs {extra}: pip install 'fsbench[{extra}]'"
        raise ImportError(text, name=error.name) from None
