"""The workloads fsbench can run: parameters with bounds, and the command they stand for. Pure.

IOzone is called for the matrix of the Unisys paper: -a with -z (without it -a skips records below
64 KB for files above 32 MB), -i 0 -i 1 -i 2 for write/rewrite, read/reread, random read/write,
-y/-q for the record sizes and -n/-g for the file sizes (iozone(1)).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
MOUNT_POINT = "/mnt/fsbench"
KB = 1024


class ParameterError(ValueError):
    """A workload parameter outside its bounds; the text tells the user what is allowed."""


@dataclass(frozen=True)
class IozoneMatrix:
    """Record sizes by file sizes, doubled from the least to the most, each cell that fits.

    All sizes are KB of 1024 bytes and powers of two. ``direct_io`` opens files with O_DIRECT
    (iozone -I), ``include_flush`` counts fsync in write times (-e), ``include_close`` close (-c).
    """

    minimum_record_kb: int
    maximum_record_kb: int
    minimum_file_kb: int
    maximum_file_kb: int
    direct_io: bool = False
    include_flush: bool = False
    include_close: bool = False
    time_limit_s: int = 24 * 3600

    def __post_init__(self) -> None:
        self._check("smallest record", self.minimum_record_kb, 1, 16384)
        self._check("largest record", self.maximum_record_kb, self.minimum_record_kb, 16384)
        self._check("smallest file", self.minimum_file_kb, 4, 2**30)
        self._check("largest file", self.maximum_file_kb, self.minimum_file_kb, 2**30)
        if self.minimum_record_kb > self.maximum_file_kb:
            raise ParameterError("No record fits into the largest file: make the file larger.")
        self._check_whole("time limit", self.time_limit_s)
        if not 10 <= self.time_limit_s <= 30 * 24 * 3600:
            raise ParameterError("The time limit must be 10 seconds to 30 days.")
        for name in ("direct_io", "include_flush", "include_close"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} must be true or false.")
        if self.direct_io and self.minimum_record_kb < 4:
            raise ParameterError("Direct I/O needs records of 4 KB or more.")

    @staticmethod
    def _check_whole(name: str, value: object) -> None:
        # Stored and sent parameters are JSON: true is a number there, and 4.0 is no whole one.
        if isinstance(value, bool) or not isinstance(value, int):
            raise ParameterError(f"The {name} must be a whole number, not {value!r}.")

    @classmethod
    def _check(cls, name: str, value: int, minimum: int, maximum: int) -> None:
        cls._check_whole(name, value)
        if not minimum <= value <= maximum:
            raise ParameterError(f"The {name} must be {minimum} to {maximum} KB, not {value}.")
        if value & (value - 1):
            raise ParameterError(f"The {name} must be a power of two in KB, not {value}.")

    def cells(self) -> Iterator[tuple[int, int]]:
        """(record size, file size) in KB, in the order IOzone runs them."""
        file_kb = self.minimum_file_kb
        while file_kb <= self.maximum_file_kb:
            record_kb = self.minimum_record_kb
            while record_kb <= min(self.maximum_record_kb, file_kb):
                yield record_kb, file_kb
                record_kb *= 2
            file_kb *= 2

    def space_needed_bytes(self) -> int:
        """Room for the largest file, and a tenth more for metadata and the journal's reserve."""
        return int(self.maximum_file_kb * KB * 1.1)

    def command(self, file_path: str) -> list[str]:
        """The arguments of the IOzone run that writes ``file_path``."""
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
            *("iozone", "-a", "-z", "-i", "0", "-i", "1", "-i", "2"),
            *("-y", f"{self.minimum_record_kb}k", "-q", f"{self.maximum_record_kb}k"),
            *("-n", f"{self.minimum_file_kb}k", "-g", f"{self.maximum_file_kb}k"),
            *flags,
            *("-f", file_path),
        ]


@dataclass(frozen=True)
class Preset:
    """A named set of parameters, offered with one click."""

    slug: str
    title: str
    description: str
    parameters: Mapping[str, int | bool]

    def matrix(self) -> IozoneMatrix:
        return IozoneMatrix(**self.parameters)  # type: ignore[arg-type]


PRESETS: dict[str, Preset] = {
    preset.slug: preset
    for preset in (
        Preset(
            "iozone-small",
            "IOzone, small",
            "Records of 4 KB to 64 KB in files of 64 KB to 4 MB: under a minute. Shows that all "
            "works; everything fits into memory, so it says little about a disk.",
            {
                "minimum_record_kb": 4,
                "maximum_record_kb": 64,
                "minimum_file_kb": 64,
                "maximum_file_kb": 4096,
            },
        ),
        Preset(
            "iozone-direct",
            "IOzone, direct I/O",
            "Records of 4 KB to 1 MB in files of 1 MB to 256 MB, opened with O_DIRECT: the page "
            "cache is left out, so that the LUN itself is measured.",
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
}


def matrix_of(tool: str, parameters: Mapping[str, object]) -> IozoneMatrix:
    """The workload of stored parameters. Raises ParameterError for a tool or value it cannot be."""
    if tool != "iozone":
        raise ParameterError(f'fsbench cannot run "{tool}" yet; it runs iozone.')
    fields = set(IozoneMatrix.__dataclass_fields__)
    unknown = sorted(set(parameters) - fields)
    if unknown:
        raise ParameterError(f"IOzone has no parameter {', '.join(unknown)}.")
    try:
        return IozoneMatrix(**parameters)  # type: ignore[arg-type]
    except TypeError as error:
        raise ParameterError(f"IOzone's parameters are not complete: {error}.") from None
