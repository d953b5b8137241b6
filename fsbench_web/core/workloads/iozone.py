"""IOzone: the matrix of the Unisys 2005 paper.

-z: without it -a skips records below 64 KB of files above 32 MB (iozone(1)).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fsbench_web.core import requirements
from fsbench_web.core.activity.promises import PRESET, Syncs
from fsbench_web.core.scoring.ceilings import RANDOM, READ, SEQUENTIAL, WRITE, Request
from fsbench_web.core.workloads.base import (
    KB,
    MIXED,
    TIME_LIMIT,
    BenchmarkCommand,
    Cell,
    Kind,
    Parameter,
    ParameterError,
    Place,
    Preset,
    Progress,
    Workload,
)

TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
# Backwards, in strides and one record again and again are no request of a kind that is measured.
_REQUESTS = {
    **dict.fromkeys(("write", "rewrite", "fwrite", "refwrite"), (SEQUENTIAL, WRITE)),
    **dict.fromkeys(("read", "reread", "fread", "refread"), (SEQUENTIAL, READ)),
    "random_write": (RANDOM, WRITE),
    "random_read": (RANDOM, READ),
}
FILE_NAME = "fsbench.work.iozone"
OUTPUT = "iozone.txt"
CONTENTS = "contents"
# -+w alone, of whatever percent, gives data of which half is one word; with -+M ("dedup+compress")
# 1% is shared and -+a percent are zeros (3.489, measured by zlib level 1 of records of 4 KB, 1 MB).
_DATA: Mapping[str, tuple[str, ...]] = {
    "pattern": (),
    "random": ("-+M", "-+w", "1", "-+a", "0"),
    "half": ("-+M", "-+w", "1", "-+a", "50"),
}


class Iozone(Workload):
    """Record sizes by file sizes in KB of 1024 bytes, doubled from least to most, if they fit."""

    tool = "iozone"
    name = "IOzone"
    about = "Write, rewrite, read, reread, random write and random read, record size by file size."
    paper = "Unisys 2005"
    question = MIXED
    programs = requirements.WORKLOADS["iozone"]
    sizes = frozenset(
        ("minimum_record_kb", "maximum_record_kb", "minimum_file_kb", "maximum_file_kb")
    )
    parameters = (
        Parameter("minimum_record_kb", "Smallest record", Kind.SIZE, minimum=1, maximum=16384),
        Parameter("maximum_record_kb", "Largest record", Kind.SIZE, minimum=1, maximum=16384),
        Parameter("minimum_file_kb", "Smallest file", Kind.SIZE, minimum=4, maximum=2**30),
        Parameter("maximum_file_kb", "Largest file", Kind.SIZE, minimum=4, maximum=2**30),
        Parameter(
            "direct_io",
            "Direct I/O",
            Kind.FLAG,
            default=False,
            help="iozone -I: opens files with O_DIRECT, past the page cache",
        ),
        Parameter(
            "include_flush",
            "Count fsync",
            Kind.FLAG,
            default=False,
            help="iozone -e: the time of fsync is part of writes",
        ),
        Parameter(
            "include_close",
            "Count close",
            Kind.FLAG,
            default=False,
            help="iozone -c: the time of close is counted too",
        ),
        TIME_LIMIT,
        Parameter(
            CONTENTS,
            "Data",
            Kind.CHOICE,
            default="pattern",
            choices=(
                ("pattern", "IOzone's own pattern: compresses to 0.5%"),
                ("random", "random, compresses to 100% (-+M -+w 1 -+a 0)"),
                ("half", "half of it zeros, compresses to 63% (-+M -+w 1 -+a 50)"),
            ),
            is_late=True,
            help="Measured with zlib level 1. Others than the pattern are made while IOzone "
            "measures, which some 500 MB/s a processor are the end of.",
        ),
    )
    presets = (
        Preset(
            "iozone-small",
            "IOzone, small",
            "Records of 4 KB to 64 KB in files of 64 KB to 4 MB: some seconds. Shows that all "
            "works; everything fits into memory, so it says little about a disk.",
            {
                "minimum_record_kb": 4,
                "maximum_record_kb": 64,
                "minimum_file_kb": 64,
                "maximum_file_kb": 4096,
            },
        ),
        Preset(
            "iozone-messages",
            "IOzone, small files, direct I/O",
            "Records of 4 KB to 16 KB in files of 4 KB to 64 KB, opened with O_DIRECT: messages, "
            "sources and objects. Some seconds.",
            {
                "minimum_record_kb": 4,
                "maximum_record_kb": 16,
                "minimum_file_kb": 4,
                "maximum_file_kb": 64,
                "direct_io": True,
            },
        ),
        Preset(
            "iozone-direct",
            "IOzone, direct I/O",
            "Records of 4 KB to 1 MB in files of 1 MB to 256 MB, opened with O_DIRECT. This "
            "bypasses the page cache and measures the LUN itself.",
            {
                "minimum_record_kb": 4,
                "maximum_record_kb": 1024,
                "minimum_file_kb": 1024,
                "maximum_file_kb": 262144,
                "direct_io": True,
            },
        ),
        Preset(
            "iozone-paper",
            "IOzone, the Unisys 2005 matrix",
            "Records of 1 KB to 1 MB in files of 4 KB to 4 GB, every cell that fits, as in the "
            "paper. Needs a LUN of 5 GB or more, and hours.",
            {
                "minimum_record_kb": 1,
                "maximum_record_kb": 1024,
                "minimum_file_kb": 4,
                "maximum_file_kb": 4194304,
            },
        ),
    )

    def check(self) -> None:
        for name, minimum, maximum in (
            ("largest record", self.minimum_record_kb, self.maximum_record_kb),
            ("largest file", self.minimum_file_kb, self.maximum_file_kb),
        ):
            if maximum < minimum:
                raise ParameterError(f"The {name} must be {minimum} KB or more, not {maximum}.")
        if self.minimum_record_kb > self.maximum_file_kb:
            raise ParameterError("No record fits into the largest file: make the file larger.")
        if self.direct_io and self.minimum_record_kb < 4:
            raise ParameterError("Direct I/O needs records of 4 KB or more.")

    def title(self) -> str:
        extras = [
            text
            for text, wanted in (
                ("direct I/O", self.direct_io),
                ("with fsync", self.include_flush),
                ("with close", self.include_close),
                (f"{self.contents} data", self.contents != "pattern"),
            )
            if wanted
        ]
        sizes = (
            f"IOzone, records {self.minimum_record_kb}–{self.maximum_record_kb} KB, "
            f"files {self.minimum_file_kb}–{self.maximum_file_kb} KB"
        )
        return ", ".join([sizes, *extras])

    def cells(self) -> Iterator[Cell]:
        """(record size, file size) in KB, in the order IOzone runs them."""
        file_kb = self.minimum_file_kb
        while file_kb <= self.maximum_file_kb:
            record_kb = self.minimum_record_kb
            while record_kb <= min(self.maximum_record_kb, file_kb):
                yield record_kb, file_kb
                record_kb *= 2
            file_kb *= 2

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        return ((test, "", *cell) for cell in self.cells() for test in TESTS)

    def space_needed_bytes(self) -> int:
        """Room for the largest file, and a tenth more for metadata and the journal's reserve."""
        return int(self.maximum_file_kb * KB * 1.1)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        flags = [
            flag
            for flag, wanted in (
                ("-I", self.direct_io),
                ("-e", self.include_flush),
                ("-c", self.include_close),
            )
            if wanted
        ]
        return [
            BenchmarkCommand(
                (
                    *("iozone", "-a", "-z", "-i", "0", "-i", "1", "-i", "2"),
                    *("-y", f"{self.minimum_record_kb}k", "-q", f"{self.maximum_record_kb}k"),
                    *("-n", f"{self.minimum_file_kb}k", "-g", f"{self.maximum_file_kb}k"),
                    *flags,
                    *_DATA[self.contents],
                    *("-f", f"{place.folder.rstrip('/')}/{FILE_NAME}"),
                ),
                output=OUTPUT,
            )
        ]

    @property
    def is_direct(self) -> bool:
        return bool(self.direct_io)

    def measures_memory(self, memory_bytes: int) -> bool:
        is_buffered = not self.direct_io and not self.include_flush
        return is_buffered and self.maximum_file_kb * KB <= memory_bytes

    def data_warning(self) -> str:
        return {
            "pattern": "IOzone writes one pattern again and again, which compresses to 0.5%: rates "
            "are of the processors, not of the disk. Choose other data.",
            "half": "IOzone is asked for data that compress to 63%.",
        }.get(self.contents, "")

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        """Each cell is written and written again, and synced after both."""
        count = 2 * sum(1 for _ in self.cells()) if self.include_flush else 0
        return {OUTPUT: Syncs(count, known_by=PRESET)}

    def counterpart(self, test: str, record_kb: int | None = None) -> Request | None:
        """One process that waits for each record; past the cache as it asks, else as the kernel
        does.
        """
        kind = _REQUESTS.get(test)
        if kind is None or record_kb is None:
            return None
        request = Request(*kind, record_kb * KB, 1)
        return request if self.direct_io and test in TESTS else request.by_the_kernel()

    def progress(self) -> Progress:
        return IozoneProgress(self.cells())


# File size, record size and at least one rate: a finished row of iozone's table.
_ROW = re.compile(r"^\s*(\d+)\s+(\d+)((?:\s+\d+)+)\s*$")
# What a cell costs besides its bytes (open, close, unlink), in KB of writing.
_OVERHEAD_KB = 64


@dataclass
class IozoneProgress:
    """Weighs each finished cell (record KB, file KB) by its file size."""

    cells: Iterable[Cell]
    tests: int = 6
    _open: dict[Cell, int] = field(default_factory=dict)
    _total: int = 0

    def __post_init__(self) -> None:
        self._open = {cell: cell[1] + _OVERHEAD_KB for cell in self.cells}
        self._total = sum(self._open.values())

    def feed(self, line: str) -> bool:
        """Take a line of output; True when it finished a cell."""
        match = _ROW.match(line)
        if match is None or len(match[3].split()) < self.tests:
            return False
        return self._open.pop((int(match[2]), int(match[1])), None) is not None

    @property
    def share(self) -> float:
        """0 to 1."""
        if not self._total:
            return 0.0
        return 1.0 - sum(self._open.values()) / self._total

    def remaining_s(self, elapsed_s: float) -> float | None:
        """Seconds left at the pace so far; None before the first cell is finished."""
        share = self.share
        return None if share <= 0 else elapsed_s * (1.0 - share) / share
