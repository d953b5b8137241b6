"""Numbers of many runs as tables of Arrow with units, and as Parquet. Pure.

pyarrow is imported where it is used: of a site, only the process that renders loads it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from fsbench_web.core.measurement_columns import Column, MeasurementColumns, joined_columns

if TYPE_CHECKING:
    import pyarrow

ROWS_AT_ONCE = 131_072
"""A row group has as many rows, or a few more: runs stay whole."""
NUMBER = ("test", "load", "record_size_kb", "file_size_kb", "value", "unit")
"""The columns that every table of numbers has."""
_IN_UNIT, _IN_KB = "in the unit of the column unit", "KB of 1024 bytes"
UNITS = {
    "value": _IN_UNIT,
    "half_width": _IN_UNIT,
    "half_width_percent": "percent",
    "record_size_kb": _IN_KB,
    "file_size_kb": _IN_KB,
}
"""What the numbers of a column are in, for readers of Parquet and Arrow."""
_REAL = ("value", "half_width", "half_width_percent")
_WHOLE = (
    *("run", "series", "repeat", "line", "record_size_kb", "file_size_kb", "sample"),
    *("repeats", "cells", "cells_expected"),
)


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one run; ``facts`` are columns with one value for all of them.

    ``flag_codes`` are places in ``kinds``, the combinations of flags. ``samples`` are the values of
    the intervals, by the place of their number; ``places`` count them from 1.
    """

    facts: Mapping[str, Any]
    columns: MeasurementColumns
    kinds: Sequence[Sequence[str] | None] = (None,)
    flag_codes: Column | None = None
    samples: Mapping[int, Sequence[float]] = field(default_factory=dict)
    places: Column | None = None

    def of_samples(self) -> "RunNumbers":
        """Its samples in place of its numbers."""
        counts = [len(values) for values in self.samples.values()]
        numbers = np.repeat(np.array(list(self.samples), dtype=np.int64), counts)
        values = [np.array(values, dtype=np.float64) for values in self.samples.values()]
        places = [np.arange(1, count + 1) for count in counts]
        return replace(
            self,
            columns=replace(
                self.columns.subset(numbers), values=np.concatenate([np.zeros(0), *values])
            ),
            flag_codes=None if self.flag_codes is None else self.flag_codes[numbers],
            samples={},
            places=np.concatenate([np.zeros(0, dtype=np.int64), *places]),
        )


def schema_of(names: Sequence[str]) -> "pyarrow.Schema":
    """The columns of these names, with their units in the metadata of their fields."""
    import pyarrow

    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    kinds: dict[str, Any] = dict.fromkeys(names, text)
    kinds |= dict.fromkeys(_WHOLE, pyarrow.int64()) | dict.fromkeys(_REAL, pyarrow.float64())
    kinds["flags"] = pyarrow.list_(pyarrow.string())
    kinds["date"] = pyarrow.timestamp("us", "UTC")
    return pyarrow.schema(
        pyarrow.field(name, kinds[name], metadata={"unit": UNITS[name]} if name in UNITS else None)
        for name in names
    )


def batches_of(
    runs: Iterable[RunNumbers], schema: "pyarrow.Schema"
) -> "Iterator[pyarrow.RecordBatch]":
    """The numbers of the runs, ROWS_AT_ONCE at a time; one batch at least."""
    group: list[RunNumbers] = []
    count, is_empty = 0, True
    for run in runs:
        group.append(run)
        count += len(run.columns)
        if count >= ROWS_AT_ONCE:
            yield _batch(group, schema)
            group, count, is_empty = [], 0, False
    if count:
        yield _batch(group, schema)
    elif is_empty:
        yield batch_of_rows([], schema)


def _batch(runs: Sequence[RunNumbers], schema: "pyarrow.Schema") -> "pyarrow.RecordBatch":
    import pyarrow

    columns = joined_columns([run.columns for run in runs])
    of_run = np.repeat(np.arange(len(runs)), [len(run.columns) for run in runs])
    arrays: dict[str, Any] = {
        "record_size_kb": pyarrow.array(columns.records, mask=columns.records < 0),
        "file_size_kb": pyarrow.array(columns.files, mask=columns.files < 0),
        "line": pyarrow.array(columns.lines, mask=columns.lines < 1),
        "value": pyarrow.array(columns.values),
    }
    for place, name in enumerate(("test", "load", "unit")):
        texts = [test[place] for test in columns.tests]
        arrays[name] = _repeated(texts, columns.codes, schema.field(name).type)
    if "sample" in schema.names:
        arrays["sample"] = pyarrow.array(np.concatenate([run.places for run in runs]))
    if "flags" in schema.names:
        kinds = [kind for run in runs for kind in run.kinds]
        starts = np.cumsum([0, *(len(run.kinds) for run in runs[:-1])])
        codes = [
            np.zeros(len(run.columns), dtype=np.int64) if run.flag_codes is None else run.flag_codes
            for run in runs
        ]
        arrays["flags"] = _repeated(
            kinds, np.concatenate(codes) + starts[of_run], schema.field("flags").type
        )
    for one in schema:
        if one.name not in arrays:
            values = [run.facts[one.name] for run in runs]
            arrays[one.name] = _repeated(values, of_run, one.type)
    return pyarrow.RecordBatch.from_arrays(
        [arrays[one.name].cast(one.type) for one in schema], schema=schema
    )


def _repeated(values: Sequence[Any], places: Column, kind: Any) -> Any:
    """An array with the value at each of the places."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind):
        found = pyarrow.array(values, kind.value_type).dictionary_encode()
    else:
        found = pyarrow.array(values, kind)
    return found.take(pyarrow.array(places))


def table_of(batches: "Iterable[pyarrow.RecordBatch]") -> "pyarrow.Table":
    """All batches, at least one, as one table with one dictionary for each column of texts."""
    import pyarrow

    return pyarrow.Table.from_batches(batches).unify_dictionaries()


def batch_of_rows(
    rows: Sequence[Mapping[str, Any]], schema: "pyarrow.Schema"
) -> "pyarrow.RecordBatch":
    """Rows as one batch; keys without a column are left out."""
    import pyarrow

    return pyarrow.RecordBatch.from_pylist(rows, schema=schema)


def write(batches: "Iterable[pyarrow.RecordBatch]", out: str | IO[bytes], suffix: str) -> None:
    """Write batches, at least one, as ``parquet`` (a row group each) or ``arrows`` (a stream)."""
    import pyarrow.parquet

    batches = iter(batches)
    first = next(batches)
    if suffix == "parquet":
        # A dictionary of numbers that differ makes files a fifth larger.
        opened = pyarrow.parquet.ParquetWriter(
            out,
            first.schema,
            compression="zstd",
            use_dictionary=[name for name in first.schema.names if name not in _REAL],
        )
    else:
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        opened = pyarrow.ipc.new_stream(out, first.schema, options=options)
    with opened as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
