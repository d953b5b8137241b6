"""sysbench's file test: the same files read and written at random and in order."""

import re
from collections.abc import Iterator, Mapping

from fsbench_web.core import requirements
from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.formats.result import load_text
from fsbench_web.core.workloads.applications.shared import MIB, REMOUNT, counts, seconds
from fsbench_web.core.workloads.base import (
    DATABASE,
    KB,
    BenchmarkCommand,
    Kind,
    Parameter,
    ParameterError,
    Place,
    Preset,
    Workload,
    seed,
    time_limit,
)

# Mode, and the rate that it must give.
MODES = {
    "rndrd": "reads",
    "rndwr": "writes",
    "rndrw": "reads",
    "seqrd": "reads",
    "seqrewr": "writes",
}
_SYNCED = re.compile(rb"^ *fsyncs/s: +([0-9]{1,12}(?:\.[0-9]{1,6})?)$", re.M)
_TOOK = re.compile(rb"^ *total time: +([0-9]{1,9}\.[0-9]{1,6})s$", re.M)


class SysbenchFiles(Workload):
    """The files are made once; each mode and number of threads is a command of its own."""

    tool = "sysbench-fileio"
    name = "sysbench fileio"
    about = (
        "Random and sequential reads and writes of a set of files with an fsync after every so "
        "many requests, as database people have measured disks for years."
    )
    question = DATABASE
    programs = requirements.WORKLOADS["sysbench-fileio"]
    parameters = (
        Parameter("total_mb", "All files", unit="MiB", default=8192, minimum=1, maximum=2**30),
        Parameter("files", "Files", default=128, minimum=1, maximum=100_000),
        Parameter("block_kb", "Block size", Kind.SIZE, default=16, minimum=1, maximum=64 * KB),
        counts("threads", "Threads", [1, 16], "Each number is a load of its own."),
        seconds(),
        Parameter(
            "fsync_every",
            "fsync after every",
            unit="requests",
            default=100,
            maximum=10**9,
            help="0: only at the end.",
        ),
        Parameter("direct", "Direct I/O", Kind.FLAG, default=False, help="O_DIRECT: no page cache"),
        REMOUNT,
        seed("the offsets", 1, minimum=1),
        time_limit(12 * 3600),
    )
    presets = (
        Preset(
            "sysbench-fileio-small",
            "sysbench fileio, a quick look",
            "16 MiB in 4 files, 1 and 2 threads, a second each: to see that it works.",
            {
                "total_mb": 16,
                "files": 4,
                "threads": [1, 2],
                "seconds": 1,
                "time_limit_s": 300,
            },
        ),
        Preset(
            "sysbench-fileio",
            "sysbench fileio, 8 GiB",
            "128 files, blocks of 16 KB, 1 and 16 threads, a minute for each of five tests.",
            {},
        ),
    )

    def check(self) -> None:
        if self.total_mb * KB // self.files < self.block_kb:
            raise ParameterError(
                f"A file must have a block or more: {self.total_mb} MiB in {self.files} files are "
                f"less than {self.block_kb} KB each."
            )

    def title(self) -> str:
        threads = ", ".join(map(str, self.threads))
        direct = ", direct" if self.direct else ""
        return (
            f"sysbench fileio, {self.total_mb:,} MiB in {self.files:,} files, {self.block_kb} KB, "
            f"{threads} threads, {self.seconds} s{direct}"
        )

    @property
    def is_direct(self) -> bool:
        return bool(self.direct)

    def data_warning(self) -> str:
        return "sysbench writes zeros, which compress to 0.5%."

    def space_needed_bytes(self) -> int:
        return int(1.02 * self.total_mb * MIB) + 4 * MIB

    def estimated_s(self) -> float:
        return float(len(self.threads) * len(MODES) * self.seconds)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        # sysbench makes its files where it is started.
        base = (
            *("env", f"--chdir={place.work}", "sysbench", "fileio"),
            *(f"--file-total-size={self.total_mb}M", f"--file-num={self.files}"),
            *(f"--file-block-size={self.block_kb * KB}", f"--rand-seed={self.seed}"),
            *(f"--file-fsync-freq={self.fsync_every}",),
            *(("--file-extra-flags=direct",) if self.direct else ()),
        )
        return [
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand((*base, "prepare")),
            *(
                BenchmarkCommand(
                    (
                        *(*base, f"--file-test-mode={mode}", f"--threads={count}"),
                        *(f"--time={self.seconds}", "--percentile=99", "run"),
                    ),
                    output=f"sysbench-{mode}-{count}.txt",
                    remount=self.remount,
                )
                for count in self.threads
                for mode in MODES
            ),
        ]

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        """sysbench syncs all files in turn once one of them was written to: one flush is enough."""
        found = {}
        for name, data in outputs.items():
            threads = int(name.removesuffix(".txt").rpartition("-")[2])
            at_once = int(self.files) * threads
            rate, took = _SYNCED.search(data), _TOOK.search(data)
            if rate and took:
                # The last turn, at the end, may find nothing to write.
                issued = int(float(rate[1]) * float(took[1])) - at_once
                found[name] = Syncs(max(issued, 0), at_once)
        return found

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for count in self.threads:
            for mode, rate in MODES.items():
                yield f"sysbench_{mode}_{rate}", load_text(threads=count), None, None
