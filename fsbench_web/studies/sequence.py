"""In which order the runs of a job are run. Pure.

Repeats are blocks: everything is run once before anything is run again, so that a drift of the
machine falls on all configurations alike. In a random order each block is shuffled again, so that
no configuration always follows the same one. The shuffle sorts by SHA-256 of the seed, the block
and the position: any program, of any year, gets the same order from the same seed.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

RANDOM = "random"
AS_WRITTEN = "as-written"
ORDERS = (RANDOM, AS_WRITTEN)
MAXIMUM_SEED = 2**32 - 1


@dataclass(frozen=True)
class Slot:
    """One run of the sequence: the ``index``-th of what was planned, or the reference (None).

    ``repeat`` counts from 1: that of the block, or of the reference.
    """

    index: int | None
    repeat: int

    @property
    def is_reference(self) -> bool:
        return self.index is None


def sequence(
    count: int, repeats: int, *, order: str = AS_WRITTEN, seed: int = 0, reference_every: int = 0
) -> list[Slot]:
    """The slots of ``count`` planned things, each run ``repeats`` times.

    With ``reference_every`` of N above 0 a reference comes first, after every N runs, and last.
    """
    planned = [
        Slot(index, repeat)
        for repeat in range(1, repeats + 1)
        for index in block_order(count, repeat, seed if order == RANDOM else None)
    ]
    return list(_with_references(planned, reference_every)) if reference_every else planned


def block_order(count: int, block: int, seed: int | None) -> list[int]:
    """The planned things in the order of a block, which counts from 1; None: as written."""
    return list(range(count)) if seed is None else _shuffled(count, seed, block)


def reference_count(planned: int, every: int) -> int:
    """How many references ``sequence`` inserts into ``planned`` runs."""
    return 1 + -(-planned // every) if every and planned else 0


def _shuffled(count: int, seed: int, block: int) -> list[int]:
    def key(index: int) -> bytes:
        return hashlib.sha256(f"{seed}/{block}/{index}".encode()).digest()

    return sorted(range(count), key=key)


def _with_references(planned: list[Slot], every: int) -> Iterator[Slot]:
    if not planned:
        return
    repeat = 1
    yield Slot(None, repeat)
    for start in range(0, len(planned), every):
        yield from planned[start : start + every]
        repeat += 1
        yield Slot(None, repeat)
