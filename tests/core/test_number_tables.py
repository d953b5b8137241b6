"""Numbers as tables of Arrow: every number with its facts, its units, and nothing made up."""

import io

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from fsbench_web.core import number_tables
from fsbench_web.core.measurement_columns import MeasuredTest, of_rows
from fsbench_web.core.number_tables import NUMBER, RunNumbers

WRITE = MeasuredTest("write", "jobs=1", "KB/s")
STAT = MeasuredTest("stat", "", "1/s")
NAMES = ("run", "filesystem", *NUMBER, "line", "flags")


def run(number: int, *rows: tuple[MeasuredTest, int | None, int | None, float, int | None], **more):
    return RunNumbers({"run": number, "filesystem": f"fs{number}"}, of_rows(rows), **more)


def table(*runs: RunNumbers, names: tuple[str, ...] = NAMES) -> pyarrow.Table:
    schema = number_tables.schema_of(names)
    return number_tables.table_of(number_tables.batches_of(runs, schema))


FLAGGED = run(
    *(1, (WRITE, 4, 64, 10.5, 7), (STAT, None, None, 3.0, None)),
    kinds=[None, ["clock", "outlier"]],
    flag_codes=np.array([1, 0]),
    samples={1: [2.5, 3.5], 0: [10.5]},
)


def test_every_number_has_its_facts() -> None:
    rows = table(FLAGGED, run(2, (WRITE, 4, 64, 11.0, 8))).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (1, "fs1", "write", "jobs=1", 4, 64, 10.5, "KB/s", 7, ["clock", "outlier"]),
        (1, "fs1", "stat", "", None, None, 3.0, "1/s", None, None),
        (2, "fs2", "write", "jobs=1", 4, 64, 11.0, "KB/s", 8, None),
    ]


def test_samples_stand_in_place_of_their_number() -> None:
    names = ("run", *NUMBER, "sample", "flags")
    rows = table(FLAGGED.of_samples(), run(2, (WRITE, 4, 64, 1.0, 1)).of_samples(), names=names)
    shown = ("run", "test", "sample", "value", "flags")
    assert [tuple(row[name] for name in shown) for row in rows.to_pylist()] == [
        (1, "stat", 1, 2.5, None),
        (1, "stat", 2, 3.5, None),
        (1, "write", 1, 10.5, ["clock", "outlier"]),
    ]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_files_are_whole_in_row_groups(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_tables, "ROWS_AT_ONCE", 2)
    runs = [run(number, (WRITE, 4, 64, number, 1), (STAT, 4, 64, 2, 2)) for number in range(count)]
    schema = number_tables.schema_of(NAMES)
    parquet, arrows = io.BytesIO(), io.BytesIO()
    number_tables.write(number_tables.batches_of(runs, schema), parquet, "parquet")
    number_tables.write(number_tables.batches_of(runs, schema), arrows, "arrows")
    file = pyarrow.parquet.ParquetFile(parquet)
    assert file.num_row_groups == max(count, 1)
    stream = pyarrow.ipc.open_stream(arrows.getvalue())
    for stored, rows in ((file.schema_arrow, file.read()), (stream.schema, stream.read_all())):
        assert rows.to_pylist() == table(*runs).to_pylist()
        assert stored.field("file_size_kb").metadata == {b"unit": b"KB of 1024 bytes"}
        assert stored.field("value").metadata == {b"unit": b"in the unit of the column unit"}
