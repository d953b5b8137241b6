"""How fast a large CSV is imported, next to a plain COPY of the same rows in the same run:

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.import_rate [ROWS]

Prints for each kind of table (many runs; one run with a cell a row): the import from the file's
first byte to the last score, a plain COPY of the same rows into the measurement table, with its
indexes and foreign keys as they are ("indexed table"), and into a table without any ("bare
table"). Each runs in a process of its own; its peak memory is printed too. The import must reach a
quarter of the rate of COPY into the same table, in under 300 MB (docs/performance.md). Without
PostgreSQL in DATABASE_URL only the import is measured.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
ROWS = 1_000_000
PIECE_BYTES = 256 * 1024


def many_runs(count: int) -> Iterator[str]:
    """Rows of the paper's matrix: two file systems, six tests, repeat after repeat."""
    yield "filesystem,configuration,repeat,test,record_size_kb,file_size_kb,value,unit\n"
    rates = random.Random(1)
    cells = [(1 << r, 4 << f) for r in range(11) for f in range(21) if 1 << r <= 4 << f]
    for place in range(count):
        rest, cell = divmod(place, len(cells))
        rest, test = divmod(rest, len(TESTS))
        repeat, filesystem = divmod(rest, 2)
        name = ("ext4", "xfs")[filesystem]
        record_kb, file_kb = cells[cell]
        yield (
            f"{name},{name}_noatime,{repeat + 1},{TESTS[test]},{record_kb},{file_kb},"
            f"{rates.uniform(1e4, 9e5):.0f},KB/s\n"
        )


def one_run(count: int) -> Iterator[str]:
    """Every row a cell of its own in one run of one test."""
    yield "test,record_size_kb,file_size_kb,value,unit\n"
    rates = random.Random(2)
    for place in range(count):
        yield f"write,4,{place + 4},{rates.uniform(1e4, 9e5):.3f},KB/s\n"


KINDS = {"many-runs": many_runs, "one-run": one_run}


def measure_import(path: Path) -> float:
    """Seconds from the file to its scores."""
    from fsbench_web.imports.plan import Target
    from fsbench_web.imports.sources import pack
    from fsbench_web.imports.storing import large

    started = time.perf_counter()
    with path.open("rb") as file:
        source = pack(path.name, file)
    assert large.is_large([source])
    large.import_large(source, Target(path.stem, "ext4", "ext4"), None)
    return time.perf_counter() - started


def measure_copy(table: str) -> float:
    """Seconds of a COPY, in one transaction, of the very rows that the import left."""
    from django.db import connection, transaction

    from fsbench_web.studies.models import Measurement

    measurements = Measurement._meta.db_table
    columns = "run_id, artefact_id, line, test, load, record_size_kb, file_size_kb, value, unit"
    with connection.cursor() as cursor:
        with cursor.copy(
            f"COPY (SELECT {columns} FROM {measurements} ORDER BY id) TO STDOUT"
        ) as out:
            rows = b"".join(out)
        if table == measurements:
            cursor.execute(f"TRUNCATE {measurements}")
        else:
            cursor.execute(f"CREATE TABLE {table} AS SELECT {columns} FROM {measurements} LIMIT 0")
    started = time.perf_counter()
    with (
        transaction.atomic(),
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy,
    ):
        for start in range(0, len(rows), PIECE_BYTES):
            copy.write(rows[start : start + PIECE_BYTES])
    seconds = time.perf_counter() - started
    with connection.cursor() as cursor:
        if table != measurements:
            cursor.execute(f"DROP TABLE {table}")
    return seconds


def child(what: str, path: Path) -> None:
    """One measurement in this process: seconds and peak memory in MB."""
    import django

    django.setup()
    seconds = (
        measure_import(path)
        if what == "import"
        else measure_copy("studies_measurement" if what == "copy" else "import_rate_bare")
    )
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{seconds} {peak_mb}")


def measured(what: str, path: Path) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.import_rate", what, str(path)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    seconds, peak_mb = done.stdout.split()
    return float(seconds), float(peak_mb)


def main(rows: int, folder: Path) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    print(f"{rows:,} rows on {connection.vendor}")
    for kind, lines in KINDS.items():
        call_command("flush", interactive=False, verbosity=0)
        path = folder / f"{kind}.csv"
        with path.open("w") as file:
            file.writelines(lines(rows))
        size_mb = path.stat().st_size / 1024 / 1024
        seconds, peak_mb = measured("import", path)
        print(f"\n{kind}: {size_mb:.0f} MB")
        show("import", rows, seconds, f"peak {peak_mb:.0f} MB of memory")
        if connection.vendor != "postgresql":
            continue
        for what, name in (("copy", "COPY, indexed table"), ("bare", "COPY, bare table")):
            copy_s, _ = measured(what, path)
            show(name, rows, copy_s, f"the import reaches {copy_s / seconds:.0%} of its rate")


def show(name: str, rows: int, seconds: float, remark: str) -> None:
    """One line of the result."""
    print(f"  {name:24} {seconds:6.1f} s {rows / seconds:12,.0f} rows/s   {remark}")


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    if len(sys.argv) == 3:
        child(sys.argv[1], Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory(prefix="fsbench-benchmark-") as name:
            os.environ["FSBENCH_TEST_DATA"] = name
            os.environ.setdefault("DATABASE_URL", f"sqlite:///{name}/benchmark.sqlite3")
            main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, Path(name))
