"""What DuckDB needs for a group-by over the Parquet files of a study of 12 million measurements.

    pip install duckdb
    .venv/bin/python -m benchmarks.study_tables [--millions 12] [--repeats 5]

It writes parts as the site does, and prints their size, the seconds and memory of the largest
process that wrote one, and the seconds of each query of docs/client.md. It exits with 1 if the
fastest repeat of a query takes MOST_S or longer.
"""

import argparse
import re
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from fsbench_web.core import number_tables
from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns
from fsbench_web.core.number_tables import NUMBER, RunNumbers

MOST_S = 1.0
NUMBERS_OF_RUN = 50_000
RUNS_OF_PART = 20
NAMES = ("run", "filesystem", "configuration", "kernel", "repeat", "date", *NUMBER, "flags")
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
    queries = re.findall(r"^```sql\n(.*?)```", PAGE.read_text(), re.M | re.S)[0].split(";")
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        with ProcessPoolExecutor(1) as processes:
            paths = [Path(folder, f"{part}.parquet") for part in range(options.millions)]
            written = list(processes.map(write_part, paths))
        size_mb = sum(path.stat().st_size for path in paths) / 2**20
        print(f"{options.millions} million measurements: {size_mb:.0f} MB of Parquet")
        print(f"a part: {max(s for s, _ in written):.1f} s, {max(mb for _, mb in written):.0f} MB")
        for query in filter(str.strip, queries):
            text = query.replace("lab.parquet", f"{folder}/*.parquet")
            seconds = []
            for _ in range(options.repeats):
                start = time.perf_counter()
                rows = duckdb.sql(text).fetchall()
                seconds.append(time.perf_counter() - start)
            slowest = max(slowest, min(seconds))
            print(f"{min(seconds):.2f} to {max(seconds):.2f} s, {len(rows)} rows: {query.strip()}")
    return int(slowest >= MOST_S)


def write_part(path: Path) -> tuple[float, float]:
    """Write a million measurements; seconds, and MB of the process at its largest."""
    part = int(path.stem)
    start = time.perf_counter()
    runs = (run(part * RUNS_OF_PART + place) for place in range(RUNS_OF_PART))
    schema = number_tables.schema_of(NAMES)
    number_tables.write(number_tables.batches_of(runs, schema), str(path), "parquet")
    memory_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return time.perf_counter() - start, memory_kb / 1024


def run(number: int) -> RunNumbers:
    """Numbers of one run that differ by 5%."""
    rng = np.random.default_rng(number)
    places = np.arange(NUMBERS_OF_RUN)
    filesystem = ("ext4", "xfs", "btrfs", "zfs")[number % 4]
    facts = {"run": number, "filesystem": filesystem, "configuration": f"{filesystem}_default"}
    facts |= {"kernel": f"6.{number % 3}", "repeat": number // 4, "date": None}
    columns = MeasurementColumns(
        TESTS,
        places % len(TESTS),
        2 ** (places // len(TESTS) % 8),
        64 * 2 ** (places // 160 % 10),
        rng.normal(100_000, 5_000, NUMBERS_OF_RUN),
        places,
    )
    return RunNumbers(facts, columns)


if __name__ == "__main__":
    raise SystemExit(main())
