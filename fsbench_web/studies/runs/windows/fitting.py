"""Which runs begin before a time is over. Pure: plan and claim use it.

A run begins if it would end in time, or if its duration is not known. A block begins only if all of
it fits, because verdicts compare within blocks.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """A run: the name of its block, "" for none, and its duration in seconds; None: not known."""

    block: str
    duration_s: float | None


def left_out(items: Sequence[Item], room_s: float, begun: Collection[str] = ()) -> set[int]:
    """The places of runs in turn that do not begin within ``room_s``. ``begun`` blocks go on."""
    last = {item.block: place for place, item in enumerate(items) if item.block}
    entered = set(begun)
    out: set[int] = set()
    passed_s = 0.0
    for place, item in enumerate(items):
        if place in out:
            continue
        is_whole = item.block != "" and item.block not in entered
        end = last[item.block] if is_whole else place
        needed_s = sum(entry.duration_s or 0 for entry in items[place : end + 1])
        if passed_s + needed_s >= room_s:
            block_places = (
                index for index in range(place, end + 1) if items[index].block == item.block
            )
            out |= set(block_places) if is_whole else {place}
            continue
        entered.add(item.block)
        passed_s += item.duration_s or 0
    return out
