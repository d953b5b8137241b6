"""Numbers of many runs as tables of Arrow with units, and as Parquet. Pure.

pyarrow is imported where it is used: of a site, only the process that renders loads it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from fsbench_web.core.measurement_columns import (
    Column,
    MeasuredTest,
    MeasurementColumns,
    joined_columns,
)

if TYPE_CHECKING:
    import pyarrow

ROWS_AT_ONCE = 131_072
"""A row group has as many rows, or a few more: runs stay whole."""
NUMBER = ("test", "load", "record_size_kb", "file_size_kb", "value", "unit")
"""The columns that every table of numbers has."""
OF_RUN = (
    *("run", "series", "filesystem", "configuration", "workload", "tool", "hardware", "lun"),
    *("kernel", "accelerator", "repeat", "block", "date"),
)
COLUMNS = {
    "measurements": (*OF_RUN, *NUMBER, "line", "flags", "samples"),
    "scores": (
        *("series", "filesystem", "configuration", "workload", "tool", "hardware", "lun"),
        *("kernel", "preparation", "machine", "test", "category", "value", "unit", "repeats"),
        *("half_width", "half_width_percent", "cells", "cells_expected", "origin", "flags"),
    ),
    "deltas": (
        *("test", "category", "unit", "contender", "configuration", "score", "runs"),
        *("delta1_percent", "delta2_percent", "status", "method", "ratio", "ratio_low"),
        *("ratio_high", "p_value", "p_holm", "blocks"),
    ),
}
"""The tables of a study; of a sealed file only: deltas of its configurations, with verdicts."""
_IN_UNIT, _IN_KB = "in the unit of the column unit", "KB of 1024 bytes"
UNITS = {
    "value": _IN_UNIT,
    "half_width": _IN_UNIT,
    "half_width_percent": "percent",
    "record_size_kb": _IN_KB,
    "file_size_kb": _IN_KB,
    "samples": _IN_UNIT,
    "score": _IN_UNIT,
    **dict.fromkeys(("delta1_percent", "delta2_percent"), "percent"),
}
"""What the numbers of a column are in, for readers of Parquet and Arrow."""
_REAL = (
    *("value", "half_width", "half_width_percent", "score", "delta1_percent", "delta2_percent"),
    *("ratio", "ratio_low", "ratio_high", "p_value", "p_holm"),
)
_WHOLE = (
    *("run", "series", "repeat", "line", "record_size_kb", "file_size_kb"),
    *("repeats", "cells", "cells_expected", "runs", "blocks"),
)


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one run. ``facts`` are columns with one value for all of them, ``lists`` columns
    with a list, or None, for each.
    """

    facts: Mapping[str, Any]
    columns: MeasurementColumns
    lists: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def schema_of(names: Sequence[str]) -> "pyarrow.Schema":
    """The columns of these names, with their units in the metadata of their fields."""
    import pyarrow

    kinds: dict[str, Any] = dict.fromkeys(names, pyarrow.string())
    kinds |= dict.fromkeys(_WHOLE, pyarrow.int64()) | dict.fromkeys(_REAL, pyarrow.float64())
    kinds |= {"flags": pyarrow.list_(pyarrow.string()), "samples": pyarrow.list_(kinds["value"])}
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
    arrays = {
        "record_size_kb": pyarrow.array(columns.records, mask=columns.records < 0),
        "file_size_kb": pyarrow.array(columns.files, mask=columns.files < 0),
        "line": pyarrow.array(columns.lines, mask=columns.lines < 1),
        "value": pyarrow.array(columns.values),
    }
    for name in schema.names:
        kind = schema.field(name).type
        if name in MeasuredTest._fields:
            texts = [getattr(test, name) for test in columns.tests]
            arrays[name] = _repeated(texts, columns.codes, kind)
        elif name in runs[0].lists:
            values = list(chain.from_iterable(run.lists[name] for run in runs))
            arrays[name] = pyarrow.array(values, kind)
        elif name not in arrays:
            arrays[name] = _repeated([run.facts[name] for run in runs], of_run, kind)
    return pyarrow.RecordBatch.from_arrays(
        [arrays[column.name].cast(column.type) for column in schema], schema=schema
    )


def _repeated(values: Sequence[Any], places: Column, kind: Any) -> Any:
    """An array with the value at each of the places."""
    import pyarrow

    return pyarrow.array(values, kind).take(pyarrow.array(places))


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
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
        opened = pyarrow.ipc.new_stream(out, first.schema, options=options)
    with opened as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
