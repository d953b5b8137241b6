"""filemark as in the FREENIX paper of 2002: PostMark's transactions by 1 to 128 workers at once."""

from collections.abc import Iterator, Mapping

from fsbench_web.core import formats
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.workloads.base import (
    KB,
    SMALL_FILES,
    BenchmarkCommand,
    Kind,
    Limits,
    Parameter,
    ParameterError,
    Place,
    Preset,
    Workload,
    file_bytes,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import (
    WRITTEN_DATA,
    data_title,
    written_data,
    written_data_warning,
)

MIB = 1024 * KB
BLOCK_BYTES = 4096
# Deletions and creations are chosen by lot, so the pool may grow for a while.
GROWTH = 1.3
PROGRAM = "fsbench-filemark"


class Filemark(Workload):
    """For each number of threads a pool of files, and phases of transactions on it."""

    tool = "filemark"
    name = "filemark"
    about = (
        "PostMark's transactions on small files by rising numbers of threads, phase after phase "
        "with a new mount between them, as the FREENIX paper of 2002 measured "
        "them. fsbench's own program; its threads are processes."
    )
    paper = "FREENIX 2002"
    question = SMALL_FILES
    parameters = (
        Parameter(
            "threads",
            "Threads",
            Kind.WHOLES,
            default=[1, 8, 64, 128],
            minimum=1,
            maximum=1024,
            help="Each number has a pool and phases of its own, separated by commas.",
            paper="1, 8, 64, 128",
        ),
        Parameter(
            "files",
            "Files",
            default=10000,
            minimum=10,
            maximum=1_000_000,
            paper="10,000; on the medium system 100,000",
        ),
        Parameter(
            "subdirectories",
            "Subdirectories",
            default=10,
            minimum=1,
            maximum=100_000,
            paper="10; on the medium system 2,000 in each of 4 directories on disks of their own",
        ),
        file_bytes(
            "smallest_bytes", "Smallest file", 512, "512 bytes; of the large-file workload 4,096"
        ),
        file_bytes(
            "largest_bytes",
            "Largest file",
            10000,
            "10,000 bytes; of the large-file workload 16,384",
        ),
        Parameter(
            "io_bytes",
            "Bytes read or written at once",
            unit="bytes",
            default=512,
            minimum=1,
            maximum=256 * KB,
            paper="512; of the large-file workload 4,096",
        ),
        Parameter(
            "read_percent",
            "Reads, of reads and appends",
            unit="percent",
            default=75,
            maximum=100,
            paper="75%",
        ),
        Parameter(
            "create_percent",
            "Creations, of creations and deletions",
            unit="percent",
            default=50,
            minimum=1,
            maximum=99,
            paper="50%",
        ),
        Parameter(
            "warm_up_s",
            "Warm-up of each phase",
            unit="seconds",
            default=30,
            maximum=3600,
            paper="30 s",
        ),
        Parameter(
            "phase_s",
            "Measured time of each phase",
            unit="seconds",
            default=120,
            minimum=1,
            maximum=24 * 3600,
            paper="120 s",
        ),
        Parameter(
            "phases",
            "Most phases",
            default=12,
            minimum=3,
            maximum=99,
            help="The first is discarded.",
            paper="12; on the medium system 6, 12 or 24",
        ),
        Parameter(
            "half_width_percent",
            "Wanted half-width of the 95% interval",
            unit="percent of the mean",
            default=10,
            maximum=1000,
            help="No further phase is run once the phases, without the first, are as sure as this "
            "and at least four; 0 runs them all.",
            paper="10%",
        ),
        Parameter(
            "memory_mb",
            "Memory limit",
            unit="MiB",
            default=128,
            maximum=16 * 1024 * 1024,
            help="Of the container, page cache included; 0 for none. Needs a worker with Docker.",
            paper="128 MB on the small system, 900 MB on the medium one",
        ),
        *WRITTEN_DATA,
        seed("the random numbers: the same seed makes the same pool."),
        time_limit(24 * 3600),
    )
    presets = (
        Preset(
            "filemark-small",
            "filemark, a quick look",
            "300 files, 1 and 4 threads, 3 phases of a second: to see that it works.",
            {
                "threads": [1, 4],
                "files": 300,
                "warm_up_s": 0,
                "phase_s": 1,
                "phases": 3,
                "half_width_percent": 0,
                "memory_mb": 0,
                "time_limit_s": 300,
            },
        ),
        Preset(
            "filemark-freenix-small-file",
            "filemark, FREENIX 2002, small files",
            "10,000 files of 512 to 10,000 bytes with 128 MB of memory, 1, 8, 64 and 128 threads, "
            "up to 12 phases of 120 seconds each after 30 of warm-up. At most two hours.",
            {},
        ),
        Preset(
            "filemark-freenix-large-file",
            "filemark, FREENIX 2002, large files",
            "As with small files, but of 4,096 to 16,384 bytes, in pieces of 4,096.",
            {"smallest_bytes": 4096, "largest_bytes": 16384, "io_bytes": 4096},
        ),
        Preset(
            "filemark-freenix-medium",
            "filemark, FREENIX 2002, medium, small files",
            "The paper's medium system on one LUN: 100,000 files in 8,000 subdirectories with 900 "
            "MB of memory, up to 24 phases: at most four hours.",
            {"files": 100_000, "subdirectories": 8000, "phases": 24, "memory_mb": 900},
        ),
        Preset(
            "filemark-freenix-medium-large-file",
            "filemark, FREENIX 2002, medium, large files",
            "The medium system with files of 4,096 to 16,384 bytes.",
            {
                "files": 100_000,
                "subdirectories": 8000,
                "phases": 24,
                "memory_mb": 900,
                "smallest_bytes": 4096,
                "largest_bytes": 16384,
                "io_bytes": 4096,
            },
        ),
    )

    def check(self) -> None:
        if self.largest_bytes < self.smallest_bytes:
            raise ParameterError(
                f"The largest file must be {self.smallest_bytes} bytes or more, "
                f"not {self.largest_bytes}."
            )
        if max(self.threads) > self.files:
            raise ParameterError(
                f"There must be a file for each thread: {max(self.threads)} files or more, "
                f"not {self.files}."
            )
        if 0 < self.memory_mb < 64:
            raise ParameterError(
                f"The memory limit must be 64 MiB or more, or 0 for none, not {self.memory_mb}."
            )

    def title(self) -> str:
        limit = f", memory limit {self.memory_mb:,} MiB" if self.memory_mb else ""
        return (
            f"filemark, {self.files:,} files of {self.smallest_bytes:,} to "
            f"{self.largest_bytes:,} bytes, {', '.join(map(str, self.threads))} threads, "
            f"{self.phases} phases of {self.phase_s} s{limit}{data_title(self)}"
        )

    def data_warning(self) -> str:
        repeats = (
            f"filemark writes the same {self.io_bytes:,} bytes again and again in each file, which "
            "compress together (in pieces of 512 bytes to 11%, of 4,096 to 40%). Ask for new "
            "random data for each write."
        )
        return written_data_warning(self, repeats if self.io_bytes < self.largest_bytes else "")

    def space_needed_bytes(self) -> int:
        blocks = -(-self.largest_bytes // BLOCK_BYTES) + 1  # and an inode
        return int((self.files * blocks * GROWTH + self.subdirectories) * BLOCK_BYTES)

    def estimated_s(self) -> float:
        return float(len(self.threads) * self.phases * (self.warm_up_s + self.phase_s))

    def least_s(self) -> float:
        phases = self._least_phases if self.half_width_percent else self.phases
        return float(len(self.threads) * phases * (self.warm_up_s + self.phase_s))

    def limits(self) -> Limits:
        return Limits(memory_bytes=self.memory_mb * MIB or None)

    def memory_warning(self, memory_bytes: int | None) -> str:
        limit_mb = min(
            [n for n in (self.memory_mb, memory_bytes and memory_bytes // MIB) if n], default=0
        )
        pool_mb = self.files * (self.smallest_bytes + self.largest_bytes) // 2 // MIB
        # The paper's own pool of 10,000 small files (50 MB) is below the memory of its machine.
        paper_mb = 128 if self.files <= 10000 else 900
        if not limit_mb or pool_mb > limit_mb or limit_mb <= paper_mb:
            return ""
        return (
            f"filemark's files have {pool_mb:,} MiB together, and {limit_mb:,} MiB of memory can "
            f"hold all of them: after the warm-up reads come from the cache. The paper had "
            f"{paper_mb} MiB of memory for them: set the memory limit to that."
        )

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        commands = [BenchmarkCommand(("mkdir", place.work))]
        pool = (
            *(f"--files={self.files}", f"--subdirectories={self.subdirectories}"),
            *(f"--smallest={self.smallest_bytes}", f"--largest={self.largest_bytes}"),
            *(f"--io-bytes={self.io_bytes}", f"--seed={self.seed}", *written_data(self)),
        )
        for count in self.threads:
            folder = f"{place.work}/{count}"
            phase = (
                *(PROGRAM, "transactions", folder, *pool, f"--threads={count}"),
                *(f"--read-percent={self.read_percent}", f"--create-percent={self.create_percent}"),
                *(f"--warm-up={self.warm_up_s}", f"--seconds={self.phase_s}"),
                *self._until(),
            )
            commands += [
                BenchmarkCommand(("mkdir", folder)),
                BenchmarkCommand((PROGRAM, "create", folder, *pool)),
                *(
                    BenchmarkCommand(phase, output=f"filemark-{count}-{number}.json", remount=True)
                    for number in range(1, self.phases + 1)
                ),
                BenchmarkCommand(
                    (PROGRAM, "report", folder, f"--threads={count}", *self._until()),
                    output=_output(count),
                ),
                BenchmarkCommand(("rm", "-r", folder)),
            ]
        return commands

    @property
    def _least_phases(self) -> int:
        # Three that count are the fewest that say something of their scatter.
        return min(int(self.phases), 4)

    def _until(self) -> tuple[str, ...]:
        return f"--least={self._least_phases}", f"--half-width={self.half_width_percent}"

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for count in self.threads:
            yield "filemark_transactions", load_text(threads=count), None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """What the report of each number of threads says; the phases' own outputs are kept."""
        names = [_output(count) for count in self.threads]
        return {name: formats.parse(name, outputs[name]) for name in names}


def _output(threads: int) -> str:
    return f"filemark-{threads}.json"
