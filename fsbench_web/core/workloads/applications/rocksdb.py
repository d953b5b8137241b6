"""RocksDB's own benchmark, db_bench."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fsbench_web.core import formats, requirements
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.workloads.applications.shared import MIB, REMOUNT, counts
from fsbench_web.core.workloads.base import (
    DATABASE,
    BenchmarkCommand,
    Kind,
    Parameter,
    Place,
    Preset,
    Workload,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import COMPRESS, compressible

KEY_BYTES = 16
READS = ("readrandom", "readwhilewriting")
# The log is written once, the data once more at each level.
GROWTH = 4


class RocksDb(Workload):
    """Filling once with one thread; then reads at each number of threads."""

    tool = "rocksdb"
    name = "RocksDB, db_bench"
    about = (
        "A log-structured store: keys are put in by random order, then read, alone and while "
        "another thread writes. db_bench's operations a second and its percentiles."
    )
    question = DATABASE
    programs = requirements.WORKLOADS["rocksdb"]
    parameters = (
        Parameter("keys", "Keys", default=10_000_000, minimum=1000, maximum=10**10),
        Parameter("value_bytes", "Value", unit="bytes", default=400, minimum=1, maximum=2**20),
        counts("threads", "Threads of reads", [1, 8], "Each number is a load of its own."),
        Parameter("reads", "Reads of a thread", default=100_000, minimum=100, maximum=10**9),
        Parameter("cache_mb", "Block cache", unit="MiB", default=64, minimum=1, maximum=2**20),
        Parameter(
            "sync",
            "Each write on the disk",
            Kind.FLAG,
            default=False,
            help="db_bench's --sync: as slow as the disk's flush.",
        ),
        REMOUNT,
        seed("the keys' order", 1, minimum=1),
        compressible(
            "db_bench's --compression_ratio is the rest. Measured with zlib level 1 of its "
            "tables: 50% give 44%, 80% give 21%, 0% give 81%, because its random bytes are text.",
            default=50,
            maximum=99,
        ),
        time_limit(12 * 3600),
    )
    presets = (
        Preset(
            "rocksdb-small",
            "RocksDB, a quick look",
            "20,000 keys of 100 bytes, 1 and 2 threads: to see that it works.",
            {
                "keys": 20_000,
                "value_bytes": 100,
                "threads": [1, 2],
                "reads": 2000,
                "cache_mb": 1,
                "time_limit_s": 300,
            },
        ),
        Preset(
            "rocksdb",
            "RocksDB, 4 GB",
            "10 million keys of 400 bytes with 64 MB of block cache, read by 1 and 8 threads. "
            "Minutes.",
            {},
        ),
    )

    def title(self) -> str:
        threads = ", ".join(map(str, self.threads))
        synced = ", each write on the disk" if self.sync else ""
        data = f", {self.compress_percent}% compressible" if COMPRESS in self.values else ""
        return (
            f"RocksDB, {self.keys:,} keys of {self.value_bytes:,} bytes, {threads} threads"
            f"{synced}{data}"
        )

    @property
    def is_preallocated(self) -> bool:
        return True

    def data_warning(self) -> str:
        return f"db_bench is asked for values that compress by {self.compress_percent}%."

    def space_needed_bytes(self) -> int:
        return 256 * MIB + GROWTH * self.keys * (KEY_BYTES + self.value_bytes)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        # Its own default is left to it, as it was in runs of before.
        share = 1 - int(self.compress_percent) / 100
        ratio = (f"--compression_ratio={share:.2f}",) if COMPRESS in self.values else ()

        def bench(name: str, threads: int, *more: str) -> tuple[str, ...]:
            return (
                *("db_bench", f"--benchmarks={name}", f"--db={place.work}/db"),
                *(f"--num={self.keys}", f"--key_size={KEY_BYTES}"),
                *(f"--value_size={self.value_bytes}", f"--threads={threads}"),
                *(f"--cache_size={self.cache_mb * MIB}", f"--seed={self.seed}"),
                *("--compression_type=none", "--histogram=1", *ratio),
                *(f"--sync={str(bool(self.sync)).lower()}", *more),
            )

        return [
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand(
                bench("fillrandom", 1, "--use_existing_db=0"), output=_output("fillrandom", 1)
            ),
            *(
                BenchmarkCommand(
                    bench(name, count, "--use_existing_db=1", f"--reads={self.reads}"),
                    output=_output(name, count),
                    remount=self.remount,
                )
                for count in self.threads
                for name in READS
            ),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        yield "db_bench_fillrandom_ops", load_text(threads=1), None, None
        for count in self.threads:
            for name in READS:
                yield f"db_bench_{name}_ops", load_text(threads=count), None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """db_bench does not print its threads: they are of the command."""
        results = {}
        wanted = [("fillrandom", 1), *((name, count) for count in self.threads for name in READS)]
        for benchmark, count in wanted:
            name = _output(benchmark, count)
            parsed = formats.parse(name, outputs[name])
            load = load_text(threads=count)
            parsed.values = [replace(value, load=load) for value in parsed.values]
            results[name] = parsed
        return results


def _output(benchmark: str, threads: int) -> str:
    return f"rocksdb-{benchmark}-{threads}.txt"
