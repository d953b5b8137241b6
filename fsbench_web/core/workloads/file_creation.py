"""Creating 50,000 files with fs_mark, with the CPU load, as in Hilzinger's article of 2006."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fsbench_web.core import requirements
from fsbench_web.core.activity.promises import PRESET, Syncs
from fsbench_web.core.formats import agent_lines, small_files
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.text import lines_of
from fsbench_web.core.scoring.ceilings import FLUSH_BYTES, RANDOM, WRITE, Request
from fsbench_web.core.workloads.base import (
    KB,
    SMALL_FILES,
    BenchmarkCommand,
    Kind,
    Parameter,
    Place,
    Preset,
    Workload,
    include_sync,
    time_limit,
)

OUTPUT = "file-creation.txt"
BLOCK_BYTES = 4096
INODE_BYTES = 1024


class FileCreation(Workload):
    """One process of fs_mark, one thread."""

    tool = "file-creation"
    name = "File creation"
    about = (
        "Files are created one after the other in one folder: files a second, and the CPU load "
        "that this is."
    )
    paper = "Hilzinger 2006"
    question = SMALL_FILES
    programs = requirements.WORKLOADS["file-creation"]
    parameters = (
        Parameter("files", "Files", default=50000, minimum=1, maximum=10_000_000, paper="50,000"),
        Parameter(
            "file_bytes",
            "File size",
            unit="bytes",
            default=0,
            maximum=2**30,
            help="0: empty files, so that nothing but creating them counts.",
            paper="does not say",
        ),
        Parameter(
            "fsync",
            "fsync of each file",
            Kind.FLAG,
            default=False,
            help="Each file is on the disk before the next is created.",
            paper="does not say",
        ),
        include_sync(
            "Seconds and CPU load then are of the time until the file system has written all; "
            "fs_mark's files a second are not."
        ),
        time_limit(6 * 3600),
    )
    presets = (
        Preset(
            "file-creation-small",
            "File creation, small",
            "2,000 empty files: a second, to see that it works.",
            {"files": 2000, "time_limit_s": 600},
        ),
        Preset(
            "file-creation-hilzinger",
            "File creation, Hilzinger 2006",
            "50,000 files one after the other, with the CPU load, as in the article. Seconds.",
            {},
        ),
    )

    def title(self) -> str:
        extras = [
            text
            for text, wanted in (
                ("fsync of each", self.fsync),
                ("written through", self.include_sync),
            )
            if wanted
        ]
        return ", ".join(
            [f"File creation, {self.files:,} files of {self.file_bytes:,} bytes", *extras]
        )

    def space_needed_bytes(self) -> int:
        blocks = -(-self.file_bytes // BLOCK_BYTES)
        return int(self.files * (blocks * BLOCK_BYTES + INODE_BYTES) * 1.1) + 4 * KB * KB

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        # -k keeps the files: the time is that of creating alone. fs_mark cannot do without a log.
        return [
            BenchmarkCommand(("mkdir", place.work)),
            BenchmarkCommand(
                (
                    *("fsbench-timed", "file_creation", "--cpu-load"),
                    *(("--sync", place.work) if self.include_sync else ()),
                    *("--", "fs_mark", "-k", "-t", "1", "-L", "1", "-l", f"{place.work}.log"),
                    *("-S", "1" if self.fsync else "0"),
                    *("-n", str(self.files), "-s", str(self.file_bytes), "-d", place.work),
                ),
                output=OUTPUT,
            ),
        ]

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for test in ("file_creation", "file_creation_real", "file_creation_cpu_load"):
            yield test, "", None, None

    def data_warning(self) -> str:
        if not self.file_bytes:
            return ""
        return "fs_mark writes files of zeros, which compress to 0.6%."

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        return {OUTPUT: Syncs(int(self.files) if self.fsync else 0, known_by=PRESET)}

    def counterpart(self, test: str, record_kb: int | None = None) -> Request | None:
        """Files that are synced one by one are flushes of the device; others wait for no disk."""
        if test != "file_creation" or not self.fsync or self.file_bytes > FLUSH_BYTES:
            return None
        return Request(RANDOM, WRITE, FLUSH_BYTES, 1, is_flushed=True)

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """fs_mark's own rate, and the times of its process."""
        lines = lines_of(outputs[OUTPUT])
        parsed = small_files.parse_fs_mark(lines)
        rates = [
            replace(value, test="file_creation", load="")
            for value in parsed.values
            if value.test == "fs_mark_files"
        ]
        times = agent_lines.parse(lines)
        parsed.values = [*rates, *times.values]
        parsed.warnings += times.warnings
        return {OUTPUT: parsed}
