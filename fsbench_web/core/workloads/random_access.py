"""Random reads, some of them followed by a write and fsync, as in Galli's article of 2001.

His program seeks to a random place of a file, reads one buffer and, in one case of four, seeks
back, writes the buffer and calls fsync: 100 cycles of 100 accesses, in files of five sizes that are
in the cache. fio does the same number of reads and writes. It differs in three things: it writes at
another random place of the file, not where it has just read; places are multiples of the buffer;
and the file is opened with O_SYNC, "as though each write(2) was followed by a call to fsync(2)"
(open(2)), because fio's own --fsync=1 calls fsync after reads as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from fsbench_web.core import formats, requirements
from fsbench_web.core.formats.json_text import JsonObject, JsonText, Number
from fsbench_web.core.formats.result import ParsedResult, ParsedValue, Problem, load_text
from fsbench_web.core.latency import Distribution
from fsbench_web.core.scoring import testnames
from fsbench_web.core.workloads.base import (
    DATABASE,
    KB,
    BenchmarkCommand,
    Kind,
    Parameter,
    Place,
    Preset,
    Workload,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import FIO_DATA, fio_data, fio_data_title, fio_data_warning

MB = KB * KB
PAPER_FILES_MB = [1, 10, 100, 250, 500]
OUTPUT = "random-access.json"


class RandomAccess(Workload):
    """One fio job for each file size, one after the other."""

    tool = "random-access"
    name = "Random access"
    about = (
        "Seeks, reads, and for some of them a write with fsync, at random places of cached files: "
        "what a data base that commits often does. Seconds for each file size."
    )
    paper = "Galli 2001"
    question = DATABASE
    programs = requirements.WORKLOADS["random-access"]
    parameters = (
        Parameter(
            "files_mb",
            "File sizes",
            Kind.WHOLES,
            unit="MB",
            default=PAPER_FILES_MB,
            minimum=1,
            maximum=1_000_000,
            help="MB of 1024 × 1024 bytes, separated by commas; one file after the other.",
            paper="1, 10, 100, 250 and 500 MB",
        ),
        Parameter("cycles", "Cycles", default=100, minimum=1, maximum=1_000_000, paper="100"),
        Parameter(
            "accesses",
            "Accesses in a cycle",
            default=100,
            minimum=1,
            maximum=1_000_000,
            help="An access is one read, and the write that may follow it.",
            paper="100",
        ),
        Parameter(
            "write_percent",
            "Accesses that write",
            unit="%",
            default=25,
            maximum=100,
            help="So many of 100 reads are followed by a write and fsync. fio mixes in whole "
            "percents of all operations.",
            paper="one in four",
        ),
        Parameter(
            "buffer_bytes",
            "Buffer",
            Kind.CHOICE,
            default="16536",
            choices=(
                ("16536", "16,536 bytes, as in the article's listing"),
                ("16384", "16,384 bytes, as in its text"),
            ),
            paper="16 KB in the text, 16536 bytes in the program",
        ),
        Parameter(
            "warm_ups",
            "Runs before the measured one",
            default=3,
            maximum=100,
            help="They bring the files into the cache, and nothing is kept of them.",
            paper="three",
        ),
        seed("the random places: the same seed is the same sequence.", 2001, minimum=1),
        *FIO_DATA,
        time_limit(24 * 3600),
    )
    presets = (
        Preset(
            "random-access-small",
            "Random access, small",
            "Files of 1 and 4 MB, 200 accesses each: a few seconds, to see that it works.",
            {
                "files_mb": [1, 4],
                "cycles": 10,
                "accesses": 20,
                "warm_ups": 1,
                "time_limit_s": 600,
            },
        ),
        Preset(
            "random-access-galli",
            "Random access, Galli 2001",
            "Files of 1 to 500 MB, 100 cycles of 100 accesses, a quarter of them written and "
            "synced, as in the article. Seconds to an hour, by what an fsync costs.",
            {},
        ),
    )

    def title(self) -> str:
        sizes = ", ".join(map(str, self.files_mb))
        return (
            f"Random access, files of {sizes} MB, {self.cycles} × {self.accesses} accesses of "
            f"{int(self.buffer_bytes):,} bytes, {self.write_percent}% written with fsync"
            f"{fio_data_title(self)}"
        )[:200]

    @property
    def is_as_printed(self) -> bool:
        """Whether the sum over all sizes is what the article's one number is of."""
        values = (self.files_mb, self.cycles, self.accesses, self.write_percent)
        return values == (PAPER_FILES_MB, 100, 100, 25)

    @property
    def operations(self) -> int:
        """Reads and writes on one file."""
        reads: int = self.cycles * self.accesses
        return reads + reads * int(self.write_percent) // 100

    def space_needed_bytes(self) -> int:
        return int(sum(self.files_mb) * MB * 1.1) + 4 * MB

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        reads = round(100 * 100 / (100 + self.write_percent))
        mix = ("--rw=randrw", f"--rwmixread={reads}", "--sync=1") if self.write_percent else ()
        jobs = [
            word
            for size in self.files_mb
            for word in (
                *(f"--name=mb{size}", "--stonewall", f"--filename=mb{size}", f"--filesize={size}m"),
                f"--io_size={self.operations * int(self.buffer_bytes)}",
            )
        ]
        argv = (
            *("fio", "--output-format=json+", f"--directory={place.work}"),
            # The files shall come from the cache: fio would drop them from it.
            *("--ioengine=sync", "--invalidate=0", "--fallocate=none"),
            *("--norandommap=1", f"--randseed={self.seed}", f"--bs={self.buffer_bytes}"),
            *(mix or ("--rw=randread",)),
            *fio_data(self),
            *jobs,
        )
        # fio lays the files out before it measures, in the first of these.
        warm_up = BenchmarkCommand(argv)
        return [
            BenchmarkCommand(("mkdir", place.work)),
            *[warm_up] * self.warm_ups,
            BenchmarkCommand(argv, output=OUTPUT),
        ]

    def data_warning(self) -> str:
        """fio lays files out with new data; each write is synced, and an extent of its own."""
        return fio_data_warning(self, None)

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for size in self.files_mb:
            yield "random_io_real", load_text(mb=size), None, None
        if self.is_as_printed:
            yield "random_io_real", "", None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """fio's rates and latencies at each size, and seconds from its own times."""
        data = outputs[OUTPUT]
        parsed = formats.parse(OUTPUT, data)
        # Times of processors are kept as seconds, below, and the disk's is of all sizes together.
        values = [
            _at_its_size(value) for value in parsed.values if not testnames.is_cost(value.test)
        ]
        times: dict[str, list[Decimal]] = {"random_io_real": [], "random_io_cpu": []}
        last_line = 1
        for job in _jobs(data):
            size = int(job.text("jobname").removeprefix("mb"))
            self._check_count(job, size, parsed)
            runtime, user, system = map(job.number, ("job_runtime", "usr_cpu", "sys_cpu"))
            if runtime is None or user is None or system is None:
                continue
            real = Decimal(runtime.text) / 1000
            cpu = real * (Decimal(user.text) + Decimal(system.text)) / 100
            last_line = runtime.line
            for test, seconds, line in (
                ("random_io_real", real, runtime.line),
                ("random_io_cpu", cpu, system.line),
            ):
                times[test].append(seconds)
                if seconds:
                    values.append(_seconds(test, seconds, line, load_text(mb=size)))
        if self.is_as_printed and len(times["random_io_real"]) == len(self.files_mb):
            for test, all_seconds in times.items():
                values.append(_seconds(test, sum(all_seconds, Decimal(0)), last_line, ""))
        parsed.values = values
        parsed.distributions = [
            _distribution_at_its_size(distribution) for distribution in parsed.distributions
        ]
        return {OUTPUT: parsed}

    def _check_count(self, job: JsonObject, size: int, parsed: ParsedResult) -> None:
        counts = [job.object(kind).number("total_ios") for kind in ("read", "write")]
        operations = sum(int(count.text) for count in counts if count is not None)
        if operations != self.operations:
            message = (
                f"fio did {operations} of {self.operations} operations on the file of {size} MB."
            )
            parsed.complete = False
            parsed.warnings.append(Problem(None, None, message))


def _seconds(test: str, seconds: Decimal, line: int, load: str) -> ParsedValue:
    return ParsedValue(test, None, None, float(seconds), "s", line, load=load)


def _at_its_size(value: ParsedValue) -> ParsedValue:
    """fio's ``mb10_read_bw`` as ``random_io_read_bw`` at the load ``mb=10``."""
    job, _, rest = value.test.partition("_")
    size = int(job.removeprefix("mb"))
    return replace(value, test=f"random_io_{rest}", load=load_text(mb=size), repeat=None)


def _distribution_at_its_size(distribution: Distribution) -> Distribution:
    job, _, rest = distribution.test.partition("_")
    size = int(job.removeprefix("mb"))
    return replace(distribution, test=f"random_io_{rest}", load=load_text(mb=size))


def _jobs(data: bytes) -> list[JsonObject]:
    """The jobs in fio's JSON; formats.parse has read it without finding fault."""
    source = JsonText(data.decode("utf-8", "replace").split("\n"))
    root, _ = source.read(source.text.index("{"))
    return [job for job in root.objects("jobs") if isinstance(job.number("job_runtime"), Number)]
