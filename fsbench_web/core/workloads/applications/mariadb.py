"""sysbench's OLTP on a MariaDB of the run's own, all of it on the measured file system."""

from collections.abc import Iterator, Mapping

from fsbench_web.core import requirements
from fsbench_web.core.formats.result import load_text
from fsbench_web.core.workloads.applications.shared import (
    FRESH_WARM_UP,
    MIB,
    REMOUNT,
    ServerWorkload,
    cache_mb,
    counts,
    seconds,
    warm_up,
)
from fsbench_web.core.workloads.base import (
    DATABASE,
    Kind,
    Parameter,
    Preset,
    seed,
    time_limit,
)

BYTES_OF_A_ROW = 240
# System tables, undo, doublewrite buffer; the log comes on top.
BYTES_OF_A_SERVER = 256 * MIB


class MariadbOltp(ServerWorkload):
    """One server folder for all loads."""

    server, counted = "mariadb", "threads"
    tool = "mariadb-oltp"
    name = "MariaDB, sysbench OLTP"
    about = (
        "sysbench's OLTP transactions in a MariaDB (InnoDB) that is on the measured file system: "
        "transactions a second and their latencies, at rising numbers of threads."
    )
    question = DATABASE
    programs = requirements.WORKLOADS["mariadb-oltp"]
    parameters = (
        Parameter(
            "script",
            "Transactions",
            Kind.CHOICE,
            default="oltp_read_write",
            choices=(
                ("oltp_read_write", "read and write"),
                ("oltp_read_only", "reads alone"),
                ("oltp_write_only", "writes alone"),
                ("oltp_update_non_index", "one update each"),
            ),
        ),
        Parameter("tables", "Tables", default=8, minimum=1, maximum=1000),
        Parameter("rows", "Rows of a table", default=1_000_000, minimum=100, maximum=10**9),
        counts("threads", "Threads", [1, 8, 32], "Each number is a load of its own."),
        seconds(),
        warm_up(),
        cache_mb("innodb_buffer_pool_size"),
        Parameter(
            "flush_log",
            "innodb_flush_log_at_trx_commit",
            Kind.CHOICE,
            default="1",
            choices=(
                ("1", "1: each commit is on the disk"),
                ("2", "2: written, and once a second on the disk"),
                ("0", "0: once a second"),
            ),
        ),
        Parameter(
            "doublewrite",
            "innodb_doublewrite",
            Kind.CHOICE,
            default="ON",
            choices=(("ON", "on"), ("OFF", "off: only where no page can be torn (ZFS, Btrfs)")),
        ),
        REMOUNT,
        seed("the rows that are drawn", 1, minimum=1),
        FRESH_WARM_UP,
        time_limit(12 * 3600),
    )
    presets = (
        Preset(
            "mariadb-small",
            "MariaDB, a quick look",
            "2,000 rows, 1 and 4 threads, a second each: to see that it works.",
            {
                "tables": 2,
                "rows": 1000,
                "threads": [1, 4],
                "seconds": 1,
                "warm_up_s": 0,
                "cache_mb": 16,
                "time_limit_s": 600,
            },
        ),
        Preset(
            "mariadb-oltp",
            "MariaDB, OLTP",
            "8 million rows (about 2 GB) with 128 MB of buffer pool, 1, 8 and 32 threads, a minute "
            "each.",
            {"fresh_warm_up": True},
        ),
    )

    def title(self) -> str:
        threads = ", ".join(map(str, self.threads))
        return (
            f"MariaDB {self.script.replace('_', ' ')}, {self.tables:,} tables of {self.rows:,} "
            f"rows, {threads} threads, {self.seconds} s, buffer pool {self.cache_mb} MiB"
            f"{self.warm_up_title}"
        )

    @property
    def is_preallocated(self) -> bool:
        return True

    def data_warning(self) -> str:
        """Measured with two tables of 200,000 rows: 43% as they are made, 39% after a run."""
        return (
            "sysbench's rows are digits: tables compress to 40%, InnoDB's log to 57%. sysbench has "
            "no option for it."
        )

    def space_needed_bytes(self) -> int:
        return BYTES_OF_A_SERVER + int(1.5 * self.tables * self.rows * BYTES_OF_A_ROW)

    @property
    def filling_s(self) -> float:
        return float(self.tables * self.rows / 100_000)

    def settings(self) -> Mapping[str, str]:
        return {
            "innodb-buffer-pool-size": f"{self.cache_mb}M",
            "innodb-flush-log-at-trx-commit": self.flush_log,
            "innodb-doublewrite": self.doublewrite,
            "max-connections": str(max(self.threads) + 20),
        }

    def creation(self) -> tuple[str, ...]:
        return f"--tables={self.tables}", f"--rows={self.rows}", f"--seed={self.seed}"

    def measurement_at(self, load: int) -> tuple[str, ...]:
        return (
            *(f"--script={self.script}", f"--threads={load}", f"--seconds={self.seconds}"),
            *(f"--warm-up={self.warm_up_s}", *self.creation(), *self.options, *self.fresh_seed),
        )

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for count in self.threads:
            yield f"sysbench_{self.script}_transactions", load_text(threads=count), None, None
