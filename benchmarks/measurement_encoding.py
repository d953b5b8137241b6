"""What a run's measurements can be kept as: bytes a number, and numbers a second there and back.

    .venv/bin/python -m benchmarks.measurement_encoding

Runs of 1,236 numbers as IOzone's matrix gives them, with four kinds of values. Each form holds
test, sizes, line and value. *arrow* is tried where pyarrow can be imported (it is no requirement of
fsbench), *arrays* (a row of PostgreSQL's arrays) where DATABASE_URL names a PostgreSQL:

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.measurement_encoding

Times are processor time, so that they hold on a busy machine; those of *arrays* are with the server
and wall clock.
"""

import io
import os
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fsbench_web.core import measurement_columns as columns_of
from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns

TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
TIMES = 200
VALUES: dict[str, Callable[[Any, int], Any]] = {
    "whole numbers, as IOzone prints": lambda r, n: np.round(r.uniform(1e4, 9e5, n)),
    "two decimals": lambda r, n: np.round(r.uniform(1, 900, n), 2),
    "three decimals": lambda r, n: np.round(r.uniform(1e4, 9e5, n), 3),
    "all bits of a double": lambda r, n: r.uniform(1e4, 9e5, n),
}
Form = tuple[Callable[[MeasurementColumns], Any], Callable[[Any], Any]]


def run_of(values: Callable[[Any, int], Any]) -> MeasurementColumns:
    """206 cells of each of six tests."""
    cells = [(1 << r, 4 << f) for r in range(11) for f in range(22) if 1 << r <= 4 << f][:206]
    count = len(TESTS) * len(cells)
    return MeasurementColumns(
        [MeasuredTest(test, "", "KB/s") for test in TESTS],
        np.repeat(np.arange(len(TESTS)), len(cells)),
        np.tile([record for record, _ in cells], len(TESTS)),
        np.tile([file for _, file in cells], len(TESTS)),
        values(np.random.default_rng(1), count),
        np.arange(1, count + 1),
    )


def arrays_of(columns: MeasurementColumns) -> list[Any]:
    """The columns, whole numbers in as few bytes as hold them."""
    whole = (columns.codes, columns.records, columns.files, columns.lines)
    return [
        *(column.astype(np.min_scalar_type(int(column.max()))) for column in whole),
        columns.values,
    ]


def npy(columns: MeasurementColumns) -> bytes:
    """NumPy's own format, one array after the other, compressed together."""
    data = io.BytesIO()
    for array in arrays_of(columns):
        np.save(data, array, allow_pickle=False)
    return zlib.compress(data.getvalue())


def from_npy(block: bytes) -> list[Any]:
    data = io.BytesIO(zlib.decompress(block))
    return [np.load(data, allow_pickle=False) for _ in range(5)]


def npz(columns: MeasurementColumns) -> bytes:
    """NumPy's own archive."""
    data = io.BytesIO()
    np.savez_compressed(data, *arrays_of(columns))
    return data.getvalue()


def from_npz(block: bytes) -> list[Any]:
    with np.load(io.BytesIO(block), allow_pickle=False) as archive:
        return [archive[name] for name in archive.files]


def forms() -> dict[str, Form]:
    """What can be tried here."""
    known_forms: dict[str, Form] = {
        "chosen: shuffled, zlib": (columns_of.encode, columns_of.decode),
        "NumPy .npy, zlib": (npy, from_npy),
        "NumPy .npz": (npz, from_npz),
    }
    try:
        import pyarrow  # type: ignore[import-not-found]
    except ImportError:
        return known_forms

    def arrow(columns: MeasurementColumns) -> bytes:
        table = pyarrow.table(
            dict(zip("trflv", map(pyarrow.array, arrays_of(columns)), strict=True))
        )
        out = pyarrow.BufferOutputStream()
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        with pyarrow.ipc.new_stream(out, table.schema, options=options) as writer:
            writer.write_table(table)
        return bytes(out.getvalue())

    def from_arrow(block: bytes) -> Any:
        table = pyarrow.ipc.open_stream(block).read_all()
        return [column.to_numpy() for column in table.columns]

    return known_forms | {"Arrow IPC, zstd": (arrow, from_arrow)}


def print_sizes(name: str, count: int, size: float, write_s: float, read_s: float) -> None:
    """One line of the result, for runs of ``count`` numbers."""
    print(f"  {name:24} {size / count:6.2f} bytes {count / write_s / 1e6:7.1f} M/s written", end="")
    print(f" {count / read_s / 1e6:7.1f} M/s read")


def measure_postgres(columns: MeasurementColumns) -> None:
    """A row of arrays for each run, as PostgreSQL compresses them."""
    import psycopg

    rows = [[column.tolist() for column in arrays_of(columns)]] * TIMES
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection, connection.cursor() as cursor:
        kinds = ("smallint", "integer", "bigint", "integer", "float8")
        described = ", ".join(f"c{n} {kind}[]" for n, kind in enumerate(kinds))
        cursor.execute(f"CREATE TEMP TABLE arrays_of_runs ({described})")
        begin = time.perf_counter()
        with cursor.copy("COPY arrays_of_runs FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        written_s = time.perf_counter() - begin
        begin = time.perf_counter()
        cursor.execute("SELECT * FROM arrays_of_runs")
        for stored in cursor:
            for column in stored:
                np.array(column)
        read_s = time.perf_counter() - begin
        cursor.execute("SELECT pg_total_relation_size('arrays_of_runs')")
        (size,) = cursor.fetchone() or (0,)
    print_sizes("PostgreSQL arrays", len(columns), size / TIMES, written_s / TIMES, read_s / TIMES)


def main() -> None:
    for values, draw in VALUES.items():
        columns = run_of(draw)
        print(values)
        for name, (write, read) in forms().items():
            block = write(columns)
            begin = time.process_time()
            for _ in range(TIMES):
                write(columns)
            written = time.process_time()
            for _ in range(TIMES):
                read(block)
            read_s = time.process_time() - written
            print_sizes(name, len(columns), len(block), (written - begin) / TIMES, read_s / TIMES)
        if os.environ.get("DATABASE_URL", "").startswith("postgres"):
            measure_postgres(columns)


if __name__ == "__main__":
    main()
