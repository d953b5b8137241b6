"""Numbers as tables of Arrow: every number with its facts, its units, and nothing made up."""

import io

import pyarrow
import pyarrow.parquet
import pytest

from fsbench_web.core import number_tables
from fsbench_web.core.measurement_columns import MeasuredTest, of_rows
from fsbench_web.core.number_tables import NUMBER, RunNumbers

WRITE = MeasuredTest("write", "jobs=1", "KB/s")
STAT = MeasuredTest("stat", "", "1/s")
NAMES = ("run", "filesystem", *NUMBER, "line", "flags", "samples")


def run(number: int, *rows: tuple[MeasuredTest, int | None, int | None, float, int | None], **more):
    return RunNumbers({"run": number, "filesystem": f"fs{number}"}, of_rows(rows), **more)


def table(*runs: RunNumbers, names: tuple[str, ...] = NAMES) -> pyarrow.Table:
    schema = number_tables.schema_of(names)
    return pyarrow.Table.from_batches(number_tables.batches_of(runs, schema))


NONE = {"flags": [None], "samples": [None]}
FLAGGED = run(
    *(1, (WRITE, 4, 64, 10.5, 7), (STAT, None, None, 3.0, None)),
    lists={"flags": [["clock", "outlier"], None], "samples": [None, [2.5, 3.5]]},
)


def test_every_number_has_its_facts() -> None:
    rows = table(FLAGGED, run(2, (WRITE, 4, 64, 11.0, 8), lists=NONE)).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (1, "fs1", "write", "jobs=1", 4, 64, 10.5, "KB/s", 7, ["clock", "outlier"], None),
        (1, "fs1", "stat", "", None, None, 3.0, "1/s", None, None, [2.5, 3.5]),
        (2, "fs2", "write", "jobs=1", 4, 64, 11.0, "KB/s", 8, None, None),
    ]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_files_are_whole_in_row_groups(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_tables, "ROWS_AT_ONCE", 2)
    lists = {"flags": [None, None], "samples": [None, None]}
    values = ((WRITE, 4, 64, 1.5, 1), (STAT, 4, 64, 2, 2))
    runs = [run(number, *values, lists=lists) for number in range(count)]
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
