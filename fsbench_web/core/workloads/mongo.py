"""Mongo of Namesys, to which Galli's article of 2001 points, by runner/agent/workloads/mongo.py.

The original is lost, so file sizes only resemble it, and each phase ends on the disk.
"""

from collections.abc import Iterator

from fsbench_web.core.formats.result import load_text
from fsbench_web.core.workloads.base import (
    KB,
    SMALL_FILES,
    BenchmarkCommand,
    Kind,
    Parameter,
    Place,
    Preset,
    Workload,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import (
    WRITTEN_DATA,
    data_title,
    written_data,
    written_data_warning,
)

PHASES = ("create", "copy", "append", "modify", "overwrite", "read", "stats", "rename", "delete")
BLOCK_BYTES = 4096
# As runner/agent/workloads/mongo.py has them; a test holds the two together.
SMALL_SHARE = 0.8
STEP = 10
LARGEST_SHARE = 10


class Mongo(Workload):
    """All phases at each base size, each of them a command of its own."""

    tool = "mongo"
    name = "Mongo"
    about = (
        "A tree of small files is created, copied, appended to, modified, overwritten, read, "
        "looked at, renamed and deleted: seconds for each phase and base file size."
    )
    paper = "Galli 2001"
    question = SMALL_FILES
    parameters = (
        Parameter(
            "base_bytes",
            "Base file sizes",
            Kind.WHOLES,
            unit="bytes",
            default=[100, 1000, 10000, 100000],
            minimum=1,
            maximum=10**9,
            help="Four of five files are at most as large; the others are up to tenfold, a fifth "
            "of these up to a hundredfold, and so on. Separated by commas.",
            paper="prints none of its results; small files of about 100 bytes and up",
        ),
        Parameter(
            "total_kb",
            "Data at each size",
            unit="KB",
            default=50 * KB,
            minimum=16,
            maximum=2**32,
            help="How much is created at each base size; the copy has it once more. The original "
            "wants more than fits into memory, unless there is a new mount.",
            paper="does not say; the original had 50 to 100 MB",
        ),
        Parameter(
            "remount",
            "Remount before each phase",
            Kind.FLAG,
            default=True,
            help="So that no phase finds in the cache what the one before has left.",
            paper="does not say",
        ),
        *WRITTEN_DATA,
        seed("the file sizes: the same seed makes the same files.", 2001),
        time_limit(24 * 3600),
    )
    presets = (
        Preset(
            "mongo-small",
            "Mongo, small",
            "256 KB of files around 100 and 4,000 bytes: a few seconds, to see that it works.",
            {"base_bytes": [100, 4000], "total_kb": 256, "remount": False, "time_limit_s": 600},
        ),
        Preset(
            "mongo-medium",
            "Mongo, 8 MB a size",
            "8 MB of files around 100 to 100,000 bytes, a new mount before each phase. Minutes.",
            {"total_kb": 8 * KB},
        ),
        Preset(
            "mongo-galli",
            "Mongo, Galli 2001",
            "50 MB of files around 100, 1,000, 10,000 and 100,000 bytes, as Mongo had them when "
            "the article pointed to it. Minutes to hours.",
            {},
        ),
    )

    def title(self) -> str:
        sizes = ", ".join(f"{size:,}" for size in self.base_bytes)
        return f"Mongo, {self.total_kb:,} KB of files around {sizes} bytes{data_title(self)}"[:200]

    def data_warning(self) -> str:
        repeats = (
            "Mongo writes the same 4 KiB again and again in each phase, which compress together "
            "(files around 100 to 100,000 bytes to 6 to 25%). Ask for new random data for each "
            "write."
        )
        return written_data_warning(self, repeats)

    def space_needed_bytes(self) -> int:
        """Both trees of one size, every file in blocks of its own, half as much again appended."""
        total = self.total_kb * KB
        # Few large files make a mean: there may be twice as many as it lets expect.
        most_files = max(2 * total / mean_file_bytes(base, total) for base in self.base_bytes)
        return int(2.5 * total + 2 * most_files * BLOCK_BYTES)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        commands = [BenchmarkCommand(("mkdir", place.work))]
        for base in self.base_bytes:
            commands += [
                BenchmarkCommand(
                    (
                        *("fsbench-mongo", phase, place.work),
                        *(str(base), str(self.total_kb), str(self.seed), *written_data(self)),
                    ),
                    output=f"mongo-{base}-{phase}.txt",
                    remount=self.remount,
                )
                for phase in PHASES
            ]
        return commands

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        return (
            (f"mongo_{phase}_real", load_text(bytes=base), None, None)
            for base in self.base_bytes
            for phase in PHASES
        )


def mean_file_bytes(base_bytes: int, total_bytes: int) -> float:
    """What a file has on average, as runner/agent/workloads/mongo.py draws its size."""
    largest = max(total_bytes // LARGEST_SHARE, base_bytes)
    mean, share, low, high = 0.0, 1.0, 0, base_bytes
    while high < largest:
        mean += share * SMALL_SHARE * (low + high) / 2
        share, low, high = share * (1 - SMALL_SHARE), high, high * STEP
    return mean + share * min((low + high) / 2, largest)
