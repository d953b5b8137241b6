"""SQLite's transactions, with a rollback journal or a write-ahead log."""

import re
from collections.abc import Iterator, Mapping

from fsbench_web.core import requirements
from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.workloads.applications.shared import MIB, TimedWorkload, seconds, warm_up
from fsbench_web.core.workloads.base import (
    DATABASE,
    BenchmarkCommand,
    Kind,
    Parameter,
    Place,
    Preset,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import COMPRESS, compressible

BYTES_OF_A_ROW = 120
_TRANSACTIONS = re.compile(rb"^SQLite [0-9.]+: ([0-9]{1,15}) transactions in ", re.M)


class SqliteTransactions(TimedWorkload):
    """A database for each journal mode; one process, one transaction after the other."""

    tool = "sqlite"
    name = "SQLite"
    about = (
        "One process commits one small transaction after the other: what a phone or a desktop "
        "program waits for. Transactions a second and their latencies."
    )
    question = DATABASE
    programs = requirements.WORKLOADS["sqlite"]
    parameters = (
        Parameter(
            "journal",
            "Journal",
            Kind.CHOICE,
            default="both",
            choices=(
                ("both", "rollback journal (delete), then WAL"),
                ("delete", "rollback journal, deleted at each commit"),
                ("truncate", "rollback journal, truncated at each commit"),
                ("persist", "rollback journal, kept"),
                ("wal", "WAL"),
            ),
        ),
        Parameter(
            "synchronous",
            "synchronous",
            Kind.CHOICE,
            default="full",
            choices=(
                ("full", "full: each commit is on the disk"),
                ("normal", "normal: with WAL only checkpoints are"),
            ),
        ),
        Parameter("rows", "Rows", default=1_000_000, minimum=1, maximum=10**8),
        seconds(),
        warm_up(5),
        Parameter(
            "remount",
            "Remount before each journal",
            Kind.FLAG,
            default=True,
            help="So that none begins with what the one before left in the cache.",
        ),
        compressible(
            "So much of the text of each account is the same in all; the rest are random bytes.",
            default=100,
        ),
        seed("the rows that are drawn", 1),
        time_limit(6 * 3600),
    )
    presets = (
        Preset(
            "sqlite-small",
            "SQLite, a quick look",
            "1,000 rows, a second with each journal: to see that it works.",
            {"rows": 1000, "seconds": 1, "warm_up_s": 0, "time_limit_s": 300},
        ),
        Preset(
            "sqlite",
            "SQLite, rollback journal and WAL",
            "A million rows (110 MB), a minute with each journal, each commit on the disk.",
            {},
        ),
    )

    @property
    def loads(self) -> tuple[str, ...]:
        """The journal modes."""
        return ("delete", "wal") if self.journal == "both" else (self.journal,)

    @property
    def filling_s(self) -> float:
        return float(len(self.loads) * self.rows / 500_000)

    def title(self) -> str:
        return (
            f"SQLite, {' and '.join(self.loads)}, synchronous {self.synchronous}, "
            f"{self.rows:,} rows, {self.seconds} s{self.data_title}"
        )

    def data_warning(self) -> str:
        if self.compress_percent == 100:
            return "Each account has the same text, which compresses to 4%."
        if not self.compress_percent:
            return ""
        return f"{self.compress_percent}% of the text of each account is the same in all."

    def space_needed_bytes(self) -> int:
        return len(self.loads) * int(1.2 * self.rows * BYTES_OF_A_ROW) + 64 * MIB

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        commands = [BenchmarkCommand(("mkdir", place.work))]
        for journal in self.loads:
            folder = f"{place.work}/{journal}"
            options = (f"--rows={self.rows}", f"--journal={journal}")
            # The usual text is left to the program, as it was in runs of before.
            data = (
                (f"--compress-percent={self.compress_percent}",) if COMPRESS in self.values else ()
            )
            commands += [
                BenchmarkCommand(("fsbench-sqlite", "create", folder, *options, *data)),
                BenchmarkCommand(
                    (
                        *("fsbench-sqlite", "run", folder, *options),
                        *(f"--synchronous={self.synchronous}", f"--seconds={self.seconds}"),
                        *(f"--warm-up={self.warm_up_s}", f"--seed={self.seed}"),
                    ),
                    output=f"sqlite-{journal}.txt",
                    remount=self.remount,
                ),
            ]
        return commands

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        """Each transaction ends with a sync
        (https://www.sqlite.org/pragma.html#pragma_synchronous).
        """
        return {name: self._syncs(data) for name, data in outputs.items()}

    def _syncs(self, data: bytes) -> Syncs | None:
        count = _TRANSACTIONS.search(data)
        return Syncs(int(count[1])) if count and self.synchronous == "full" else None

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        return ((f"sqlite_{journal}", "", None, None) for journal in self.loads)
