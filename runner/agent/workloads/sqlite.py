"""Transactions of SQLite on the measured file system, by one process, each timed.

    sqlite.py create FOLDER --rows N --journal MODE --compress-percent N
    sqlite.py run FOLDER --journal MODE --synchronous MODE --rows N --seconds S --warm-up S --seed N

A transaction changes one row that is drawn by lot and appends one to a history, as one of TPC-B
does, and is committed before the next begins. ``--journal`` is ``delete``, ``truncate``,
``persist`` (rollback journals) or ``wal``; ``--synchronous`` is ``full`` (each commit is on the
disk before it is answered; for WAL, too) or ``normal``. Source: SQLite's "Pragma statements
supported" and "Write-Ahead Logging". Each account has the same text,
unless less than 100 percent of it are to compress: the rest are random bytes then, and others in
each. Prints the rate and percentiles of the commits' latencies, one
JSON object a line. Stdlib only.
"""

import argparse
import os
import random
import sqlite3
import sys
import time
from array import array
from collections.abc import Iterator

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)

from runner.agent.workloads.latencies import latency_tests, print_number

JOURNALS = ("delete", "truncate", "persist", "wal")
FILLER = "x" * 84
MOST_TRANSACTIONS = 20_000_000


def connection(folder: str, journal: str, synchronous: str) -> sqlite3.Connection:
    database = sqlite3.connect(f"{folder}/bench.sqlite3", isolation_level=None)
    answer = database.execute(f"PRAGMA journal_mode={journal}").fetchone()[0]
    if answer != journal:
        raise sqlite3.OperationalError(
            f"SQLite keeps the journal mode {answer} instead of {journal}"
        )
    database.execute(f"PRAGMA synchronous={synchronous}")
    return database


def fillers(rows: int, compress_percent: int) -> "Iterator[str | bytes]":
    """84 bytes for each row; so many percent are the same in all."""
    if compress_percent == 100:
        return (FILLER for _ in range(rows))
    same = FILLER[: len(FILLER) * compress_percent // 100].encode()
    return (same + os.urandom(len(FILLER) - len(same)) for _ in range(rows))


def create(folder: str, rows: int, journal: str, compress_percent: int) -> None:
    os.mkdir(folder)  # noqa: PTH102
    database = connection(folder, journal, "full")
    database.execute("BEGIN")
    database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, filler TEXT)")
    database.execute(
        "CREATE TABLE history (id INTEGER PRIMARY KEY, account INTEGER, delta INTEGER)"
    )
    database.executemany(
        "INSERT INTO account VALUES (?, 0, ?)", enumerate(fillers(rows, compress_percent))
    )
    database.execute("COMMIT")
    database.close()


def transactions(
    database: sqlite3.Connection, rows: int, seconds: float, lots: random.Random
) -> tuple["array[int]", float]:
    """The latency of each in ns, in the order they came, and the seconds of all."""
    latencies = array("q")
    started = now = time.perf_counter_ns()
    end = started + int(seconds * 1e9)
    while now < end and len(latencies) < MOST_TRANSACTIONS:
        account, delta = lots.randrange(rows), lots.randint(-5000, 5000)
        before = time.perf_counter_ns()
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE account SET balance = balance + ? WHERE id = ?", (delta, account))
        database.execute("INSERT INTO history (account, delta) VALUES (?, ?)", (account, delta))
        database.execute("COMMIT")
        now = time.perf_counter_ns()
        latencies.append(now - before)
    return latencies, (now - started) / 1e9


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("create", "run"))
    parser.add_argument("folder")
    parser.add_argument("--journal", choices=JOURNALS, default="wal")
    parser.add_argument("--synchronous", choices=("full", "normal"), default="full")
    for name, default in (
        *(("rows", 1000), ("seconds", 1), ("warm-up", 0), ("seed", 1)),
        ("compress-percent", 100),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args(arguments)
    try:
        if options.what == "create":
            create(options.folder, options.rows, options.journal, options.compress_percent)
            return 0
        database = connection(options.folder, options.journal, options.synchronous)
        lots = random.Random(options.seed)  # noqa: S311 (no secret)
        transactions(database, options.rows, options.warm_up, lots)
        latencies, took_s = transactions(database, options.rows, options.seconds, lots)
        database.close()
    except (sqlite3.Error, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    print(f"SQLite {sqlite3.sqlite_version}: {len(latencies)} transactions in {took_s:.6f} s")
    test = f"sqlite_{options.journal}"
    print_number(test, f"{len(latencies) / took_s:.6f}", "transactions/s", {})
    latency_tests(test, sorted(latencies), {})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
