"""How far a benchmark is, from the rows it has printed. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# File size, record size and at least one rate: a finished row of iozone's table.
_ROW = re.compile(r"^\s*(\d+)\s+(\d+)((?:\s+\d+)+)\s*$")
# What a cell costs besides its bytes (open, close, unlink), in KB of writing.
_OVERHEAD_KB = 64


@dataclass
class IozoneProgress:
    """Weighs each finished cell by its file size: the 4 GB files take most of the time.

    ``cells`` are (record KB, file KB).
    """

    cells: Iterable[tuple[int, int]]
    tests: int = 6
    _open: dict[tuple[int, int], int] = field(default_factory=dict)
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
