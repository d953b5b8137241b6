"""pgmeter's five tests as in the FREENIX paper of 2002, run by fio.

Bryant, Forester, Hawkes: Filesystem Performance and Scalability in Linux 2.4.17. fio gets pgmeter's
request sizes and shares of reads and random requests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fsbench_web.core import formats, requirements
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.core.scoring.ceilings import READ, SEQUENTIAL, WRITE, Request
from fsbench_web.core.workloads.base import (
    KB,
    MIXED,
    BenchmarkCommand,
    Kind,
    Limits,
    Parameter,
    ParameterError,
    Place,
    Preset,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import (
    FIO_DATA,
    PREALLOCATE,
    data_title,
    fio_data,
    fio_data_warning,
)
from fsbench_web.core.workloads.fio.steady import PERCENTILES, STEADY, SteadyFio

MIB = 1024 * KB
# The files with the blocks that point to them.
ADDED = 1.02
# The least that the paper had: 1 GB of files with 512 MB of memory.
ABOVE_MEMORY = 2
FILE_NAMES = "pgmeter.$jobnum"


@dataclass(frozen=True)
class _Test:
    """One access specification. ``sizes`` are (bytes, percent of requests); none: one size."""

    key: str
    label: str
    read_percent: int
    random_percent: int
    sizes: tuple[tuple[int, int], ...] = ()


TESTS = (
    _Test("sequential_read", "Sequential Read", 100, 0),
    _Test("sequential_write", "Sequential Write", 0, 0),
    _Test(
        "web_server",
        "Web Server",
        100,
        100,
        (
            *((512, 22), (1024, 15), (2048, 8), (4096, 23), (8192, 15)),
            *((16384, 2), (32768, 6), (65536, 7), (131072, 1), (524288, 1)),
        ),
    ),
    _Test(
        "file_server",
        "File Server",
        80,
        100,
        (
            *((512, 10), (1024, 5), (2048, 5), (4096, 60)),
            *((8192, 2), (16384, 4), (32768, 4), (65536, 10)),
        ),
    ),
    _Test("oltp_8k", "8K OLTP", 67, 100, ((8192, 100),)),
)


class Pgmeter(SteadyFio):
    """One command of fio for each test and queue depth."""

    tool = "pgmeter"
    name = "pgmeter by fio"
    about = (
        "The five access patterns of pgmeter (sequential read and write, Web Server, File Server, "
        "8K OLTP) at rising queue depths, as the FREENIX paper of 2002 "
        "measured them. It is fio that works, with pgmeter's request sizes and shares."
    )
    paper = "FREENIX 2002"
    question = MIXED
    programs = requirements.WORKLOADS["pgmeter"]
    parameters = (
        *(
            Parameter(test.key, test.label, Kind.FLAG, default=True, help="Whether it is measured.")
            for test in TESTS
        ),
        Parameter(
            "outstanding",
            "Queue depth of each file",
            Kind.WHOLES,
            default=[1, 4, 16, 64],
            minimum=1,
            maximum=1024,
            help="Each test is run once for each number, separated by commas.",
            paper="1, 4, 16, 64; on the large system 1, 2, 4, 8",
        ),
        Parameter(
            "files",
            "Files",
            default=1,
            minimum=1,
            maximum=256,
            help="All are read and written at the same time, and all are on the same LUN.",
            paper="1, 4 and 28 (also 112), each on a disk of its own",
        ),
        Parameter(
            "file_mb",
            "Size of each file",
            unit="MB",
            default=1024,
            minimum=1,
            maximum=16 * 1024 * 1024,
            help="All together well above the memory, or the cache is measured.",
            paper="1 GB, on the larger systems 2 GB",
        ),
        Parameter(
            "sequential_kb",
            "Sequential request",
            Kind.SIZE,
            default=8,
            minimum=1,
            maximum=16384,
            paper="8 KB, on the larger systems 64 KB",
        ),
        Parameter(
            "access",
            "Access",
            Kind.CHOICE,
            default="buffered",
            choices=(
                ("buffered", "buffered, through the page cache (io_uring)"),
                ("direct", "direct, past the page cache (O_DIRECT, libaio)"),
            ),
            help="Direct needs a device with sectors of 512 bytes for the two server tests.",
            paper="buffered",
        ),
        Parameter(
            "ramp_s",
            "Warm-up",
            unit="seconds",
            default=30,
            minimum=1,
            maximum=3600,
            help="Before anything is counted.",
            paper="30 s",
        ),
        Parameter(
            "runtime_s",
            "Measured time",
            unit="seconds",
            default=300,
            minimum=2,
            maximum=24 * 3600,
            paper="300 s",
        ),
        Parameter(
            "interval_s",
            "Interval",
            unit="seconds",
            default=10,
            minimum=1,
            maximum=3600,
            help="What is done in each is one sample, from which the 95% interval comes.",
            paper="10 s",
        ),
        Parameter(
            "memory_mb",
            "Memory limit",
            unit="MiB",
            default=512,
            maximum=16 * 1024 * 1024,
            help="Of the container, page cache included; 0 for none. It is the way to files above "
            "the memory on a large machine, and needs a worker with Docker.",
            paper="machines of 512 MB, 900 MB and 16 GB",
        ),
        *FIO_DATA,
        PREALLOCATE,
        *STEADY,
        time_limit(24 * 3600),
    )
    presets = (
        Preset(
            "pgmeter-small",
            "pgmeter by fio, small",
            "Five tests at queue depths of 1 and 4 on a file of 32 MB, 6 seconds each in "
            "intervals of one, enough to tell a steady state. A bit more than a minute. The file "
            "fits into memory, so the cache is measured.",
            {
                "outstanding": [1, 4],
                "file_mb": 32,
                "ramp_s": 1,
                "runtime_s": 6,
                "interval_s": 1,
                "memory_mb": 0,
                "time_limit_s": 300,
            },
        ),
        Preset(
            "pgmeter-freenix",
            "pgmeter by fio, FREENIX 2002",
            "The paper's small system: a file of 1 GB with 512 MB of memory, five tests at queue "
            "depths of 1, 4, 16 and 64, 300 seconds each after 30 of warm-up. Two hours.",
            {},
        ),
        Preset(
            "pgmeter-freenix-medium",
            "pgmeter by fio, FREENIX 2002, medium",
            "The paper's medium system, on one LUN: 4 files of 2 GB with 900 MB of memory, "
            "sequential requests of 64 KB. Two hours.",
            {"files": 4, "file_mb": 2048, "sequential_kb": 64, "memory_mb": 900},
        ),
    )

    def check(self) -> None:
        super().check()
        if not self.tests():
            raise ParameterError(
                f"Choose at least one test: {', '.join(test.label for test in TESTS)}."
            )
        if self.runtime_s < 2 * self.interval_s:
            raise ParameterError(
                f"The measured time must be at least two intervals, {2 * self.interval_s} seconds, "
                f"not {self.runtime_s}: a 95% interval needs two samples."
            )
        largest_kb = max([512, self.sequential_kb])
        if self.file_mb * KB < largest_kb:
            raise ParameterError(f"A file must hold the largest request, {largest_kb} KB.")
        if 0 < self.memory_mb < 64:
            raise ParameterError(
                f"The memory limit must be 64 MiB or more, or 0 for none, not {self.memory_mb}."
            )
        total = self.files * max(self.outstanding)
        if total > 16384:
            raise ParameterError(
                f"{self.files} files at a queue depth of {max(self.outstanding)} are "
                f"{total:,} requests at once, and 16,384 is the most."
            )

    def tests(self) -> list[_Test]:
        """Those that are chosen."""
        return [test for test in TESTS if self.values[test.key]]

    def title(self) -> str:
        chosen = self.tests()
        names = "five tests" if chosen == list(TESTS) else ", ".join(test.label for test in chosen)
        limit = f", memory limit {self.memory_mb:,} MiB" if self.memory_mb else ""
        return (
            f"pgmeter by fio, {names}, {self.files} × {self.file_mb:,} MB, "
            f"queue depth {', '.join(map(str, self.outstanding))}, {self.runtime_s} s"
            f"{self.steady_title}, {self.access}{limit}{data_title(self)}"
        )[:200]

    def space_needed_bytes(self) -> int:
        return int(self.files * self.file_mb * MIB * ADDED)

    def limits(self) -> Limits:
        return Limits(memory_bytes=self.memory_mb * MIB or None)

    def measures_memory(self, memory_bytes: int) -> bool:
        memory = min(memory_bytes, self.memory_mb * MIB or memory_bytes)
        return bool(self.access != "direct" and self.files * self.file_mb * MIB <= memory)

    def memory_warning(self, memory_bytes: int | None) -> str:
        if self.access == "direct":
            return ""
        limit_mb = min(
            [n for n in (self.memory_mb, memory_bytes and memory_bytes // MIB) if n], default=0
        )
        total_mb = self.files * self.file_mb
        if not limit_mb or total_mb >= ABOVE_MEMORY * limit_mb:
            return ""
        return (
            f"pgmeter's files have {total_mb:,} MiB together, and {limit_mb:,} MiB of memory can "
            "hold "
            + ("all" if total_mb <= limit_mb else "most")
            + " of them: this measures the cache. The paper's files were at least "
            f"{ABOVE_MEMORY} times the memory. Make the files larger, or set the memory limit to "
            f"{max(total_mb // ABOVE_MEMORY, 64):,} MiB."
        )

    def points(self) -> list[tuple[_Test, int]]:
        return [(test, depth) for test in self.tests() for depth in self.outstanding]

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        files = (
            f"--directory={place.work}",
            f"--filename_format={FILE_NAMES}",
            f"--numjobs={self.files}",
            f"--size={self.file_mb}m",
        )
        commands = [
            BenchmarkCommand(("mkdir", place.work)),
            self.layout(files, "--end_fsync=1", "--group_reporting"),
        ]
        for test, depth in self.points():
            engine = ("libaio", "1") if self.access == "direct" else ("io_uring", "0")
            argv = (
                *("fio", f"--name={test.key}", *files, *fio_data(self)),
                *self._access_specification(test),
                *(f"--ioengine={engine[0]}", f"--direct={engine[1]}", f"--iodepth={depth}"),
                *(*self.timing, "--group_reporting", "--unified_rw_reporting=mixed", PERCENTILES),
                *(f"--status-interval={self.interval_s}", "--output-format=json+"),
            )
            output = _output(test.key, depth)
            commands.append(BenchmarkCommand(argv, output=output, remount=True))
        return commands

    def _access_specification(self, test: _Test) -> tuple[str, ...]:
        kind = {100: "read", 0: "write"}.get(test.read_percent, "rw")
        if test.random_percent:
            kind = f"rand{kind}"
        options = [f"--rw={kind}"]
        if kind.endswith("rw"):
            options.append(f"--rwmixread={test.read_percent}")
        if test.random_percent:
            # Requests are drawn with replacement: in fio's words, without a map of the blocks.
            options += [f"--percentage_random={test.random_percent}", "--norandommap"]
        if len(test.sizes) > 1:
            split = ":".join(f"{size}/{percent}" for size, percent in test.sizes)
            return (*options, f"--bssplit={split}")
        size = test.sizes[0][0] if test.sizes else self.sequential_kb * KB
        return (*options, f"--bs={size}")

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for test, depth in self.points():
            for rate in ("iops", "bw"):
                yield f"{test.key}_{rate}", self._load(depth), None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """Operations/s, KB/s and mean latencies of each test, each with its load."""
        results = {}
        for test, depth in self.points():
            name = _output(test.key, depth)
            parsed = formats.parse(name, outputs[name], by_job=True)
            parsed.values = [
                # fio calls reads and writes together "mixed", which all of these numbers are.
                replace(value, test=_of_one(value.test, test), load=self._load(depth))
                for value in parsed.values
            ]
            parsed.distributions = [
                replace(
                    distribution,
                    test=distribution.test.replace("_mixed_", "_"),
                    load=self._load(depth),
                )
                for distribution in parsed.distributions
            ]
            results[name] = parsed
        return results

    @property
    def is_direct(self) -> bool:
        return bool(self.access == "direct")

    def data_warning(self) -> str:
        """Through the page cache random writes lie side by side in the end, too."""
        writing = [
            test
            for test in self.tests()
            if test.read_percent < 100 and not (self.access == "direct" and test.random_percent)
        ]
        one_size = ((self.sequential_kb * KB, 100),)
        sizes = [size for test in writing for size, _ in test.sizes or one_size]
        at_once = min(self.outstanding) * min(sizes) if sizes else None
        return fio_data_warning(self, at_once)

    def counterpart(self, test: str, record_kb: int | None = None) -> Request | None:
        """Of the two sequential tests: the others mix sizes, or reads and writes. Several files are
        several streams, which a disk does not read one after the other.
        """
        name, load = testnames.parts(test)
        definition = next(
            (candidate for candidate in TESTS if name.startswith(f"{candidate.key}_")), None
        )
        if definition is None or definition.random_percent or self.files > 1:
            return None
        outstanding, _ = loads.split(load, "iodepth")
        direction = READ if definition.read_percent else WRITE
        request = Request(SEQUENTIAL, direction, self.sequential_kb * KB, outstanding or 1)
        return request if self.access == "direct" else request.by_the_kernel()

    def _load(self, outstanding: int) -> str:
        return load_text(iodepth=outstanding, jobs=self.files)


def _of_one(test: str, definition: _Test) -> str:
    """How busy the disk was is reported of each test: a run has one value of each name and load."""
    return test.replace("_mixed_", "_").replace("fio_disk_util", f"{definition.key}_disk_util")


def _output(key: str, outstanding: int) -> str:
    return f"pgmeter-{key}-{outstanding}.json"
