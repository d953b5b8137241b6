"""How fast a large CSV is imported, and its numbers stored and read, next to a bare COPY of them:

    .venv/bin/python -m tests.services .venv/bin/python -m benchmarks.import_rate [ROWS]

Prints for each kind of table (many runs; one run with a cell a row), each in a process of its own:
*parse*, the file into columns; *import*, from the file's first byte to the last score, with its
peak memory, by a process that has imported another file before, as the importer of a site has, and
by one that loads its programs first (*first import*); *store* and *read*, the very numbers that
this left, from columns into their table and
back; and *bare*, the same numbers as rows into a table without keys and indexes, by COPY on
PostgreSQL and one prepared INSERT on SQLite (without DATABASE_URL). Bytes are those of the tables
with their indexes; processor seconds are the process's own, without the database server's.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
ROWS = 1_000_000
TABLE, BARE = "studies_measurementblock", "import_rate_bare"
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


Took = tuple[float, float]
"""Seconds, and seconds of a processor in this process."""


def timed(work: Callable[[], object]) -> Took:
    started, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - busy


def measure_import(path: Path) -> Took:
    """From the file to its scores, where a part of it was imported before."""
    from django.core.management import call_command

    part = path.with_name(f"part-of-{path.name}")
    with path.open("rb") as file:
        part.write_bytes(b"".join(file.readlines(PART_BYTES)))
    measure_first_import(part)
    part.unlink()
    call_command("flush", interactive=False, verbosity=0)
    return measure_first_import(path)


def measure_first_import(path: Path) -> Took:
    """From the file to its scores."""

    def work() -> None:
        from fsbench_web.imports.sources import Target, pack
        from fsbench_web.imports.storing.commit import import_sources

        with path.open("rb") as file:
            source = pack(path.name, file)
        import_sources([source], Target(path.stem, "ext4", "ext4"), None)

    return timed(work)


def measure_parse(path: Path) -> Took:
    """From the file to its columns."""
    from fsbench_web.core.formats import parse

    return timed(lambda: parse(path.name, path.read_bytes()))


def stored_bytes(table: str) -> int:
    """What a table takes with its indexes and what lies outside of it."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_total_relation_size(%s)", [table])
        else:
            cursor.execute(
                "SELECT sum(pgsize) FROM dbstat WHERE name IN "
                "(SELECT name FROM sqlite_master WHERE tbl_name = %s)",
                [table],
            )
        return int(cursor.fetchone()[0])


def measure_store() -> float:
    """Seconds to write the numbers of all runs, of columns in memory, into their emptied table."""
    from django.db import connection, transaction

    from fsbench_web.studies.models import MeasurementBlock
    from fsbench_web.studies.scores import measurements
    from fsbench_web.studies.scores.measurements import NewBlock

    blocks = [
        NewBlock(
            numbers.run_id,
            numbers.artefact_id,
            numbers.columns,
            (numbers.kinds, numbers.flag_codes),
        )
        for numbers in measurements.read(MeasurementBlock.objects.all())
    ]
    with connection.cursor() as cursor:
        # On PostgreSQL a deleted row takes its room until it is vacuumed.
        is_sqlite = connection.vendor == "sqlite"
        cursor.execute(f"{'DELETE FROM' if is_sqlite else 'TRUNCATE'} {TABLE}")
    started = time.perf_counter()
    with transaction.atomic():
        measurements.store(blocks)
    return time.perf_counter() - started


def measure_read() -> float:
    """Seconds to read the numbers of each run by itself, as its page does."""
    from fsbench_web.studies.models import Run
    from fsbench_web.studies.scores import measurements

    runs = list(Run.objects.values_list("pk", flat=True))
    started = time.perf_counter()
    for run_id in runs:
        for numbers in measurements.read(measurements.of_run(run_id)):
            numbers.columns.values.sum()
    return time.perf_counter() - started


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


def child(operation: str, path: Path) -> None:
    """One measurement in this process: seconds, peak memory in MB, and bytes stored."""
    import django

    django.setup()
    of_file = {
        "parse": measure_parse,
        "first import": measure_first_import,
        "import": measure_import,
    }
    of_stored = {"store": measure_store, "read": measure_read, "bare": measure_bare}
    seconds, processor_s = (
        of_file[operation](path) if operation in of_file else (of_stored[operation](), 0.0)
    )
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = stored_bytes(BARE if operation == "bare" else TABLE)
    print(f"{seconds} {processor_s} {peak_mb} {size}")


def measure_operation(operation: str, path: Path) -> tuple[float, float, float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.import_rate", operation, str(path)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    seconds, processor_s, peak_mb, size = map(float, done.stdout.split())
    return seconds, processor_s, peak_mb, size


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
        print(f"\n{kind}: {size_mb:.0f} MB")
        results = {
            "parse": measure_operation("parse", path),
            "first import": measure_operation("first import", path),
        }
        call_command("flush", interactive=False, verbosity=0)
        results |= {
            operation: measure_operation(operation, path)
            for operation in ("import", "store", "read", "bare")
        }
        bare_s = results["bare"][0]
        for operation, (seconds, processor_s, peak_mb, size) in results.items():
            remark = f"{bare_s / seconds:6.2f} of bare"
            if operation != "parse":
                remark += f", {size / rows:6.1f} bytes a number"
            if processor_s:
                remark += f", {processor_s:.2f} s of a processor, peak {peak_mb:.0f} MB of memory"
            print_rate(operation, rows, seconds, remark)
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {BARE}")


def print_rate(name: str, rows: int, seconds: float, remark: str) -> None:
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
