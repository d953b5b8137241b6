"""What DuckDB needs for queries over the Parquet file of a study of 12 million measurements.

    pip install duckdb
    .venv/bin/python -m benchmarks.study_tables [--millions 12] [--repeats 5]

It writes the file as a site does, and prints its size, and the seconds of each query of
docs/client.md. It exits with 1 if the fastest repeat of a query takes MOST_S or longer.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path

import numpy as np

from fsbench_web.core import number_tables
from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns
from fsbench_web.core.number_tables import NUMBER, RunNumbers

MOST_S = 1.0
NUMBERS_OF_RUN = 50_000
NAMES = ("run", "filesystem", "configuration", "kernel", *NUMBER, "flags")
TESTS = [
    MeasuredTest(name, f"jobs={jobs}", "KB/s") for name in ("write", "read") for jobs in range(10)
]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "client.md"


def main() -> int:
    """Print the figures; returns the exit code."""
    import duckdb

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    (queries,) = re.findall(r"^```sql\n(.*?);\n```", PAGE.read_text(), re.M | re.S)
    slowest_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/lab.parquet"
        runs = map(run, range(options.millions * 1_000_000 // NUMBERS_OF_RUN))
        schema = number_tables.schema_of(NAMES)
        number_tables.write(number_tables.batches_of(runs, schema), path, "parquet")
        size_mb = Path(path).stat().st_size / 2**20
        print(f"{options.millions} million measurements: {size_mb:.0f} MB of Parquet")
        for query in queries.split(";\n"):
            seconds = []
            for _ in range(options.repeats):
                start = time.perf_counter()
                duckdb.sql(query.replace("lab.parquet", path)).fetchall()
                seconds.append(time.perf_counter() - start)
            slowest_s = max(slowest_s, min(seconds))
            print(f"{min(seconds):.2f} to {max(seconds):.2f} s: {query}")
    return int(slowest_s >= MOST_S)


def run(number: int) -> RunNumbers:
    """Numbers of one run that differ by 5%."""
    filesystem = ("ext4", "xfs", "btrfs", "zfs")[number % 4]
    facts = {"run": number, "filesystem": filesystem, "configuration": f"{filesystem}_default"}
    places = np.arange(NUMBERS_OF_RUN)
    columns = MeasurementColumns(
        TESTS,
        places % len(TESTS),
        2 ** (places // len(TESTS) % 8),
        64 * 2 ** (places // 160 % 10),
        np.random.default_rng(number).normal(100_000, 5_000, NUMBERS_OF_RUN),
        places,
    )
    flags = [None] * NUMBERS_OF_RUN
    return RunNumbers(facts | {"kernel": f"6.{number % 3}"}, columns, {"flags": flags})


if __name__ == "__main__":
    raise SystemExit(main())
