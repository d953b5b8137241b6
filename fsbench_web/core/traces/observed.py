"""Counts of operations by size, from any format of traces."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from fsbench_web.core.scoring.profiles.definition import MOST_PARTS, Part, Sizes, size_words

MOST_BYTES = 32 * 1024 * 1024
MOST_LINES = 1_500_000
MOST_LINE = 100_000
MOST_FILES = 200_000
"""Files with a remembered last place, which tells random from sequential."""
BY_OPERATIONS, BY_BYTES, BY_TIME = "operations", "bytes", "time"
LEAST_FILE_KB = 4


class TraceError(ValueError):
    """A trace that cannot be read: the line, from 1 (0: none of its own), and why."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"Line {line}: {reason}" if line else reason)


@dataclass
class File:
    """One file, or the accesses of one process to a device, while a trace is read."""

    end: int = 0
    size: int | None = None
    is_flushed: bool = False
    is_direct: bool = False


_Key = tuple[Hashable, str, int]
"""A file, ``read`` or ``write`` with "random_" before it where it was, block size in KB."""


@dataclass
class ObservedWorkload:
    """Counts of accesses. ``tool``: the format. ``skipped``: what was not counted, by reason.

    ``has_times``: each access has a duration. ``is_device``: of a device, without sizes of files.
    """

    tool: str
    has_times: bool = False
    is_device: bool = False
    files: dict[Hashable, File] = field(default_factory=dict)
    operations: dict[_Key, float] = field(default_factory=lambda: defaultdict(int))
    octets: dict[_Key, float] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[_Key, float] = field(default_factory=lambda: defaultdict(float))
    skipped: Counter[str] = field(default_factory=Counter)

    def file(self, key: Hashable, line: int) -> File:
        """The file that is called so in this trace."""
        file = self.files.get(key)
        if file is None:
            if len(self.files) >= MOST_FILES:
                raise TraceError(line, f"there are more than {MOST_FILES:,} files: cut the trace.")
            file = self.files[key] = File()
        return file

    def add(
        self,
        key: Hashable,
        line: int,
        *,
        is_write: bool,
        offset: int,
        length: int,
        seconds: float = 0.0,
    ) -> None:
        """Count one access: random if it begins neither at the end of the last one nor at 0."""
        if length <= 0:
            self.skipped["accesses of no bytes"] += 1
            return
        file = self.file(key, line)
        is_random = offset not in (0, file.end)
        file.end = offset + length
        file.size = max(file.size or 0, file.end)
        name = ("random_" if is_random else "") + ("write" if is_write else "read")
        place = (key, name, power_kb(length))
        self.operations[place] += 1
        self.octets[place] += length
        self.seconds[place] += seconds

    @property
    def count(self) -> float:
        return sum(self.operations.values())


@dataclass(frozen=True)
class ReadParts:
    """The parts of a profile, largest first, and in sentences what was seen and left out."""

    parts: tuple[Part, ...]
    notes: tuple[str, ...]


def parts_of(
    observed: ObservedWorkload, by: str = BY_OPERATIONS, file_kb: int | None = None
) -> ReadParts:
    """Parts with weights in percent of what ``by`` says. Raises TraceError."""
    if not observed.count:
        skipped = "; ".join(f"{count:,} {kind}" for kind, count in observed.skipped.most_common(4))
        raise TraceError(0, f"No read or write was found{f' ({skipped})' if skipped else ''}.")
    if by == BY_TIME and not observed.has_times:
        raise TraceError(0, f"{observed.tool} says no times here: weigh by operations or bytes.")
    source: Mapping[_Key, float] = observed.operations
    if by != BY_OPERATIONS:
        source = observed.octets if by == BY_BYTES else observed.seconds
    weights: dict[tuple[str, int, int, bool | None, bool | None], float] = defaultdict(float)
    assumed = 0
    for (key, name, block), weight in source.items():
        file = observed.files[key]
        if observed.is_device or not file.size:
            size, assumed = file_kb or 1024 * 1024, assumed + 1
        else:
            size = power_kb(file.size)
        cached = False if observed.is_device or file.is_direct else None
        flushed = True if file.is_flushed and name.endswith("write") else None
        weights[name, block, max(size, block, LEAST_FILE_KB), cached, flushed] += weight
    total = sum(weights.values())
    if total <= 0:
        raise TraceError(0, "All weights are zero: weigh by operations.")
    ranked = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0][:3]))
    heaviest, rest = ranked[:MOST_PARTS], ranked[MOST_PARTS:]
    parts = tuple(
        Part(
            name,
            float(f"{100 * weight / total:.3g}"),
            Sizes(block, block),
            Sizes(size, size),
            "",
            cached,
            flushed,
        )
        for (name, block, size, cached, flushed), weight in heaviest
        if weight > 0
    )
    notes = [
        f"{observed.tool}: {observed.count:,.12g} reads and writes of {len(observed.files):,} "
        f"{'places' if observed.is_device else 'files'}, weighed by {by}."
    ]
    if rest:
        share = 100 * sum(weight for _, weight in rest) / total
        notes.append(f"{len(rest)} further parts with {share:.2g}% of the weight are left out.")
    if assumed:
        words = size_words(file_kb or 1024 * 1024)
        notes.append(f"The trace does not say how large files are: {words} is assumed.")
    notes += [f"Not counted: {count:,} {kind}." for kind, count in observed.skipped.most_common(6)]
    return ReadParts(parts, tuple(notes))


def power_kb(octets: int) -> int:
    """The smallest power of two of KB that holds so many bytes."""
    kb = max(1, -(-octets // 1024))
    return 1 << (kb - 1).bit_length()
