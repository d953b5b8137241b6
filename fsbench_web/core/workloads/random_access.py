"""Random reads, some followed by a write and fsync, as in Galli's article of 2001.

His program writes where it has just read; fio writes at another random place, at multiples of the
buffer. Files have O_SYNC, because fio's --fsync=1 calls fsync after reads too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

from fsbench_web.core import formats, requirements
from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.formats.fio.syncs import syncs as fio_syncs
from fsbench_web.core.formats.json_text import JsonObject, Number, documents
from fsbench_web.core.formats.result import ParsedResult, ParsedValue, Problem, load_text
from fsbench_web.core.latency import Distribution
from fsbench_web.core.scoring import loads, testnames
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
from fsbench_web.core.workloads.fio.data import FIO_DATA, data_title, fio_data, fio_data_warning

MB = KB * KB
PAPER_FILES_MB = [1, 10, 100, 250, 500]
DRAWN = "drawn"
"""The fio job of a drawn file for each cycle."""
OUTPUT = "random-access.json"
Of = TypeVar("Of", ParsedValue, Distribution)


class RandomAccess(Workload):
    """One fio job over all files, or one for each file size, one after the other."""

    tool = "random-access"
    name = "Random access"
    about = (
        "Seeks, reads, and for some of them a write with fsync, at random places of cached files: "
        "what a database that commits often does. Seconds for all files, or for each file size."
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
            help="MB of 1024 × 1024 bytes, separated by commas.",
            paper="1, 10, 100, 250 and 500 MB",
        ),
        Parameter("cycles", "Cycles", default=100, minimum=1, maximum=1_000_000, paper="100"),
        Parameter(
            "one_file_per_cycle",
            "Draw one file for each cycle",
            Kind.FLAG,
            default=False,
            is_late=True,
            help="Otherwise each file has all cycles, one file after the other.",
            paper="one file, as in the article's listing",
        ),
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
            "100 cycles of 100 accesses, a quarter of them written and synced. Each cycle draws "
            "one of five files of 1 to 500 MB, as the article's listing does. Seconds to minutes.",
            {"one_file_per_cycle": True},
        ),
        Preset(
            "random-access-galli-each-file",
            "Random access, Galli 2001, each file",
            "The article's text read another way: all 100 cycles in each of the five files. This "
            "is five times the work of its listing. Do not compare it with the printed seconds.",
            {},
        ),
    )

    def title(self) -> str:
        sizes = ", ".join(map(str, self.files_mb))
        drawn = "one file a cycle, " if self.one_file_per_cycle else ""
        return (
            f"Random access, files of {sizes} MB, {drawn}{self.cycles} × {self.accesses} accesses "
            f"of {int(self.buffer_bytes):,} bytes, {self.write_percent}% written with fsync"
            f"{data_title(self)}"
        )[:200]

    @property
    def is_as_printed(self) -> bool:
        """Whether its seconds are of the same work as the article's one number."""
        values = (self.files_mb, self.cycles, self.accesses, self.write_percent)
        return self.one_file_per_cycle and values == (PAPER_FILES_MB, 100, 100, 25)

    @property
    def loads(self) -> dict[str, str]:
        """The load of each fio job, by the job's name; "" where it is the article's own work."""
        if self.one_file_per_cycle:
            return {DRAWN: "" if self.is_as_printed else load_text(files=len(self.files_mb))}
        return {f"mb{size}": load_text(mb=size) for size in self.files_mb}

    @property
    def operations(self) -> int:
        """Reads and writes of one fio job."""
        reads: int = self.cycles * self.accesses
        return reads + reads * int(self.write_percent) // 100

    def space_needed_bytes(self) -> int:
        return int(sum(self.files_mb) * MB * 1.1) + 4 * MB

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        reads = round(100 * 100 / (100 + self.write_percent))
        mix = ("--rw=randrw", f"--rwmixread={reads}", "--sync=1") if self.write_percent else ()
        argv = (
            *("fio", "--output-format=json+", f"--directory={place.work}"),
            # The files shall come from the cache: fio would drop them from it.
            *("--ioengine=sync", "--invalidate=0", "--fallocate=none"),
            *("--norandommap=1", f"--randseed={self.seed}", f"--bs={self.buffer_bytes}"),
            *(mix or ("--rw=randread",)),
            *fio_data(self),
        )
        files = [
            (f"--name=mb{size}", "--stonewall", f"--filename=mb{size}", f"--filesize={size}m")
            for size in self.files_mb
        ]
        io_size = f"--io_size={self.operations * int(self.buffer_bytes)}"
        create = []
        if self.one_file_per_cycle:
            # One job has one size for all its files: they are there before it, and keep theirs.
            layout = (*argv, "--create_only=1", *(word for words in files for word in words))
            create = [BenchmarkCommand(layout)]
            names = ":".join(f"mb{size}" for size in self.files_mb)
            draw = f"--file_service_type=random:{self.operations // self.cycles}"
            argv += (f"--name={DRAWN}", f"--filename={names}", draw, io_size)
        else:
            # fio lays the files out before it measures, in the first command.
            argv += tuple(word for words in files for word in (*words, io_size))
        return [
            BenchmarkCommand(("mkdir", place.work)),
            *create,
            *[BenchmarkCommand(argv)] * self.warm_ups,
            BenchmarkCommand(argv, output=OUTPUT),
        ]

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        """Its fio jobs run one after the other."""
        options = {"rw": "randrw", "sync": "1"} if self.write_percent else {}
        return {OUTPUT: fio_syncs(outputs[OUTPUT], [options])}

    def data_warning(self) -> str:
        """fio lays files out with new data; each write is synced, and an extent of its own."""
        return fio_data_warning(self, None)

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for load in self.loads.values():
            yield "random_io_real", load, None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """fio's rates and latencies at each load, and seconds from its own times."""
        data = outputs[OUTPUT]
        parsed = formats.parse(OUTPUT, data, by_job=True)
        # Times of processors are kept as seconds, below, and the disk's is of all jobs together.
        values = [
            self._at_its_load(value) for value in parsed.values if not testnames.is_cost(value.test)
        ]
        for job in _jobs(data):
            load = self.loads[job.text("jobname")]
            self._check_count(job, load, parsed)
            runtime, user, system = map(job.number, ("job_runtime", "usr_cpu", "sys_cpu"))
            if runtime is None or user is None or system is None:
                continue
            real = Decimal(runtime.text) / 1000
            cpu = real * (Decimal(user.text) + Decimal(system.text)) / 100
            for test, seconds, line in (
                ("random_io_real", real, runtime.line),
                ("random_io_cpu", cpu, system.line),
            ):
                if seconds:
                    values.append(
                        ParsedValue(test, None, None, float(seconds), "s", line, load=load)
                    )
        parsed.values = values
        parsed.distributions = [
            self._at_its_load(distribution) for distribution in parsed.distributions
        ]
        return {OUTPUT: parsed}

    def _check_count(self, job: JsonObject, load: str, parsed: ParsedResult) -> None:
        counts = [job.object(kind).number("total_ios") for kind in ("read", "write")]
        operations = sum(int(count.text) for count in counts if count is not None)
        if operations != self.operations:
            at = f" at {loads.words(load)}" if load else ""
            message = f"fio did {operations} of {self.operations} operations{at}."
            parsed.complete = False
            parsed.warnings.append(Problem(None, None, message))

    def _at_its_load(self, of: Of) -> Of:
        """fio's ``mb10_read_bw`` as ``random_io_read_bw`` at the load ``mb=10``."""
        job, _, rest = of.test.partition("_")
        return replace(of, test=f"random_io_{rest}", load=self.loads[job], repeat=None)


def _jobs(data: bytes) -> list[JsonObject]:
    """The jobs in fio's JSON; formats.parse has read it without finding fault."""
    root = next(documents(data.decode("utf-8", "replace").split("\n")))
    return [job for job in root.objects("jobs") if isinstance(job.number("job_runtime"), Number)]
