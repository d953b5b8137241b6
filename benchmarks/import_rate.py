"""How fast fsbench imports a large CSV, next to a bare COPY of the same numbers.

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.import_rate [ROWS]

*Import* is the time from the file's first byte to the last score, after a part of the file. *Bare*
writes the same numbers as rows, by COPY on PostgreSQL and INSERT on SQLite (without DATABASE_URL).
Processor seconds and memory are the process's own.
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
BARE = "import_rate_bare"
PIECE_BYTES = 256 * 1024
PART_BYTES = 12 * 1024 * 1024


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


def import_file(path: Path) -> tuple[float, float]:
    """Seconds, and seconds of a processor in this process, from the file to its scores."""
    from fsbench_web.imports.sources import Target, pack
    from fsbench_web.imports.storing.commit import import_sources

    started, busy = time.perf_counter(), time.process_time()
    with path.open("rb") as file:
        source = pack(path.name, file)
    import_sources([source], Target(path.stem, "ext4", "ext4"), None)
    return time.perf_counter() - started, time.process_time() - busy


def measure_import(path: Path) -> tuple[float, float]:
    """The same where a part of the file was imported before, as in a web process at work."""
    from django.core.management import call_command

    part = path.with_name(f"part-of-{path.name}")
    with path.open("rb") as file:
        part.write_bytes(b"".join(file.readlines(PART_BYTES)))
    import_file(part)
    part.unlink()
    call_command("flush", interactive=False, verbosity=0)
    return import_file(path)


def measure_bare() -> float:
    """Seconds to write the same numbers as rows into a table of their own, in one transaction."""
    from django.db import connection, transaction

    from fsbench_web.studies.models import MeasurementBlock
    from fsbench_web.studies.scores import measurements

    rows = [tuple(row[:9]) for row in measurements.rows(MeasurementBlock.objects.all())]
    columns = "run_id, artefact_id, line, test, load, record_size_kb, file_size_kb, value, unit"
    kinds = ("bigint", "bigint", "integer", "varchar(120)", "varchar(60)", "integer", "bigint")
    described = zip(columns.split(", "), (*kinds, "double precision", "varchar(20)"), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {BARE} ({', '.join(map(' '.join, described))})")
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {BARE} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            with cursor.copy(f"COPY {BARE} TO STDOUT") as out:
                text = b"".join(out)
            cursor.execute(f"TRUNCATE {BARE}")
    started = time.perf_counter()
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {BARE} FROM STDIN") as copy:
                for start in range(0, len(text), PIECE_BYTES):
                    copy.write(text[start : start + PIECE_BYTES])
        else:
            marks = ", ".join("?" * 9)
            connection.connection.executemany(f"INSERT INTO {BARE} VALUES ({marks})", rows)
    return time.perf_counter() - started


def child(path: Path) -> None:
    """Measure one file in this process and print the figures."""
    import django

    django.setup()
    from django.db import connection

    rows = int(path.suffixes[0].strip("."))
    import_s, processor_s = measure_import(path)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bare_s = measure_bare()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {BARE}")
    print(
        f"{path.stem.partition('.')[0]:10} import {rows / import_s:12,.0f} rows/s, "
        f"{bare_s / import_s:.2f} of bare ({rows / bare_s:,.0f} rows/s), {processor_s:.2f} s of a "
        f"processor, peak {peak_mb:.0f} MB of memory",
        flush=True,
    )


def main(rows: int, folder: Path) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    print(f"{rows:,} rows on {connection.vendor}", flush=True)
    for kind, lines in KINDS.items():
        call_command("flush", interactive=False, verbosity=0)
        path = folder / f"{kind}.{rows}.csv"
        with path.open("w") as file:
            file.writelines(lines(rows))
        subprocess.run([sys.executable, "-m", "benchmarks.import_rate", str(path)], check=True)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    if sys.argv[-1].endswith(".csv"):
        child(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="fsbench-benchmark-") as name:
            os.environ["FSBENCH_TEST_DATA"] = name
            os.environ.setdefault("DATABASE_URL", f"sqlite:///{name}/benchmark.sqlite3")
            main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, Path(name))
