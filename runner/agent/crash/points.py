"""Where a crash can happen, from the log of a disk with a volatile write cache. Stdlib only.

The disk may lose any write that no flush followed, and keeps what it was forced to write (FUA).
dm-log-writes logs a forced write at its end, and others before the flush that made them last.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runner.agent.crash.write_log import FLUSH, Entry

MOST_PAIRED_WRITES = 32
TORN_BYTES = (512, 4096)
BOUNDARY, DROPPED, KEPT, PAIR, TORN = "boundary", "dropped", "kept", "pair", "torn"


@dataclass(frozen=True, order=True)
class Point:
    """One state of the disk after a crash.

    Entries before ``upto`` are on it, of later ones those in ``more``, and of the entry ``torn``
    its first ``torn_bytes``. Marks before ``before`` were set before the crash. ``about``: what
    makes it another one than its neighbours.
    """

    upto: int
    before: int
    kind: str
    about: "tuple[int, ...]" = ()
    more: "tuple[int, ...]" = field(default=(), compare=False)
    torn: int = -1
    torn_bytes: int = 0

    @property
    def name(self) -> str:
        """Such as ``kept:120:131:124``: kind, entries applied, marks, writes it is about."""
        return ":".join(map(str, (self.kind, self.upto, self.before, *self.about)))


def marked(entries: "Sequence[Entry]", text: str) -> int:
    """The place of a mark. Raises ValueError where there is none."""
    for place, entry in enumerate(entries):
        if entry.is_mark and entry.mark == text:
            return place
    raise ValueError(f"The log has no mark {text}.")


def points(entries: "Sequence[Entry]", start: int) -> "Iterator[Point]":
    """Every crash point after the mark at ``start``; a flush must stand right before it."""
    ends = [place for place in range(start + 1, len(entries)) if entries[place].is_boundary]
    last = start
    flushed = start + 1
    for end in [*ends, len(entries)]:
        # All that was acknowledged until now, and nothing more than what was promised.
        yield Point(last + 1, end, BOUNDARY)
        if end == len(entries) or entries[end].flags & FLUSH:
            yield from _reordered(entries, flushed, end)
            flushed = end + 1
        if end < len(entries):
            yield from _torn(entries, end, end)
        last = end


def _reordered(entries: "Sequence[Entry]", begin: int, end: int) -> "Iterator[Point]":
    """Between two flushes: any part of the writes, and all that was forced."""
    volatile = [place for place in range(begin, end) if entries[place].is_volatile]
    if not volatile:
        return
    first, last = volatile[0], volatile[-1]
    forced = tuple(p for p in range(first, end) if entries[p].is_boundary)
    everything = tuple(sorted((*volatile, *forced)))
    for place in volatile:
        yield Point(first, end, DROPPED, (place,), tuple(p for p in everything if p != place))
        yield Point(first, end, KEPT, (place,), tuple(sorted((place, *forced))))
    if len(volatile) <= MOST_PAIRED_WRITES:
        for number, one in enumerate(volatile):
            for other in volatile[number + 1 :]:
                yield Point(first, end, PAIR, (one, other), tuple(sorted((one, other, *forced))))
    yield from _torn(entries, last, end)


def _torn(entries: "Sequence[Entry]", place: int, before: int) -> "Iterator[Point]":
    """The last write in part."""
    for torn_bytes in TORN_BYTES:
        if entries[place].length > torn_bytes and entries[place].data_at:
            yield Point(place, before, TORN, (place, torn_bytes), (), place, torn_bytes)


def chosen(every: "Sequence[Point]", most: int, seed: int) -> "list[Point]":
    """At most so many, in the order of the log: half of them boundaries, as far as there are any.

    The same seed chooses the same points.
    """
    draw = random.Random(seed)  # noqa: S311 (a choice that can be repeated)
    boundaries = [point for point in every if point.kind == BOUNDARY]
    others = [point for point in every if point.kind != BOUNDARY]
    share = min(len(boundaries), max(most // 2, most - len(others)))
    taken = draw.sample(boundaries, share)
    taken += draw.sample(others, min(len(others), most - share))
    return sorted(taken)
