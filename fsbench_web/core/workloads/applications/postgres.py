"""pgbench on the run's own PostgreSQL, with its cluster on the measured file system."""

from collections.abc import Iterator, Mapping

from fsbench_web.core import requirements
from fsbench_web.core.file_features import PERMISSIONS
from fsbench_web.core.formats import agent_lines, databases
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import lines_of
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
from fsbench_web.core.workloads.fio.data import COMPRESS, compressible

# As formats.databases names what pgbench calls "TPC-B (sort of)" and "select only".
TESTS = {"tpcb-like": "pgbench_tpc-b_sort_of", "select-only": "pgbench_select_only"}
# pgbench(1): a scale is 100,000 rows, about 15 MB with its index.
BYTES_OF_A_SCALE = 16 * MIB
# An empty cluster with its first segments of the log.
BYTES_OF_A_CLUSTER = 64 * MIB


class Pgbench(ServerWorkload):
    """One cluster for all loads."""

    server, counted = "postgres", "clients"
    tool = "pgbench"
    name = "PostgreSQL, pgbench"
    about = (
        "Transactions like those of TPC-B, or reads alone, in a PostgreSQL that is on the measured "
        "file system: transactions a second and their latencies, at rising numbers of clients."
    )
    question = DATABASE
    programs = requirements.WORKLOADS["pgbench"]
    parameters = (
        Parameter(
            "script",
            "Transactions",
            Kind.CHOICE,
            default="tpcb-like",
            choices=(("tpcb-like", "like TPC-B: read and write"), ("select-only", "reads alone")),
        ),
        Parameter(
            "scale",
            "Scale",
            default=100,
            minimum=1,
            maximum=100_000,
            help="Of 100,000 accounts each, about 15 MB. Clients wait for each other where there "
            "are more of them than this (pgbench's manual).",
        ),
        counts("clients", "Clients", [1, 8, 32], "Each number is a load of its own."),
        seconds(),
        warm_up(),
        cache_mb("shared_buffers"),
        Parameter(
            "synchronous_commit",
            "synchronous_commit",
            Kind.CHOICE,
            default="on",
            choices=(("on", "on: each commit is on the disk"), ("off", "off")),
        ),
        Parameter(
            "full_page_writes",
            "full_page_writes",
            Kind.CHOICE,
            default="on",
            choices=(("on", "on"), ("off", "off: only where no page can be torn (ZFS, Btrfs)")),
        ),
        Parameter(
            "max_wal_mb",
            "max_wal_size",
            unit="MiB",
            default=1024,
            minimum=32,
            maximum=2**20,
            help="A checkpoint comes when about half of it was written, or after five minutes.",
        ),
        REMOUNT,
        compressible(
            "pgbench fills each account with 84 blanks. So much of them stays so; the rest are "
            "letters and digits of its own.",
            default=100,
        ),
        seed("the accounts that are drawn", 1, minimum=0),
        FRESH_WARM_UP,
        time_limit(12 * 3600),
    )
    presets = (
        Preset(
            "pgbench-small",
            "PostgreSQL, a quick look",
            "100,000 accounts, 1 and 4 clients, a second each: to see that it works.",
            {
                "scale": 1,
                "clients": [1, 4],
                "seconds": 1,
                "warm_up_s": 0,
                "cache_mb": 16,
                "max_wal_mb": 32,
                "time_limit_s": 600,
            },
        ),
        Preset(
            "pgbench-tpcb",
            "PostgreSQL, like TPC-B",
            "10 million accounts (1.5 GB), 1, 8 and 32 clients, five minutes each: at least one "
            "checkpoint falls into each.",
            {"seconds": 300, "fresh_warm_up": True},
        ),
        Preset(
            "pgbench-read-only",
            "PostgreSQL, reads alone",
            "10 million accounts (1.5 GB) with 128 MB of shared buffers, 1, 8 and 32 clients, a "
            "minute each.",
            {"script": "select-only", "fresh_warm_up": True},
        ),
    )

    def title(self) -> str:
        kind = "reads alone" if self.script == "select-only" else "like TPC-B"
        clients = ", ".join(map(str, self.clients))
        return (
            f"pgbench {kind}, scale {self.scale:,}, {clients} clients, {self.seconds} s, "
            f"shared_buffers {self.cache_mb} MiB{self.data_title}{self.warm_up_title}"
        )

    @property
    def demands(self) -> frozenset[str]:
        """initdb refuses a cluster that others may read."""
        return frozenset({PERMISSIONS})

    def data_warning(self) -> str:
        """Measured with a scale of 3, the log after a run of 8 s; numbers and headers of the rows
        compress whatever the filler is.
        """
        if self.compress_percent == 100:
            return (
                "pgbench fills its accounts with blanks: they compress to 5%, PostgreSQL's log to "
                "14%."
            )
        return (
            f"{self.compress_percent}% of the filler of each account is blank, and the rest of a "
            "row compresses too: with 50% accounts compress to 32%, with 0% to 57%."
        )

    def space_needed_bytes(self) -> int:
        return (
            BYTES_OF_A_CLUSTER
            + int(1.3 * self.scale * BYTES_OF_A_SCALE)
            + 2 * self.max_wal_mb * MIB
        )

    @property
    def filling_s(self) -> float:
        return float(self.scale * (0.2 if self.compress_percent == 100 else 0.6))

    def settings(self) -> Mapping[str, str]:
        return {
            "shared_buffers": f"{self.cache_mb}MB",
            "synchronous_commit": self.synchronous_commit,
            "full_page_writes": self.full_page_writes,
            "max_wal_size": f"{self.max_wal_mb}MB",
            "max_connections": str(max(self.clients) + 20),
        }

    def creation(self) -> tuple[str, ...]:
        # The usual filler is left to pgbench, as it was in runs of before.
        data = (f"--compress-percent={self.compress_percent}",) if COMPRESS in self.values else ()
        return (f"--scale={self.scale}", *data)

    def measurement_at(self, load: int) -> tuple[str, ...]:
        return (
            *(f"--script={self.script}", f"--test={TESTS[self.script]}", f"--clients={load}"),
            *(f"--jobs={min(load, 4)}", f"--seconds={self.seconds}"),
            *(f"--warm-up={self.warm_up_s}", f"--seed={self.seed}"),
            *(*self.options, *self.fresh_seed),
            *(("--sampling=0.1",) if self.script == "select-only" else ()),
        )

    def output(self, load: int) -> str:
        return f"pgbench-{load}.txt"

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for count in self.clients:
            load = load_text(clients=count, threads=min(count, 4))
            yield f"{TESTS[self.script]}_tps", load, None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """pgbench's report, and the latencies of what it logged."""
        results = {}
        for name in map(self.output, self.clients):
            lines = lines_of(outputs[name])
            parsed = databases.parse_pgbench(lines)
            if agent_lines.parse.recognises(lines):
                parsed.values += agent_lines.parse(lines).values
            results[name] = parsed
        return results
