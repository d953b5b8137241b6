"""Which runs are begun before a time is over. Pure: the plan shows what the claim then does.

A run is begun where it would end before the time, by what is known of its duration; one of which
nothing is known is begun as long as there is time at all. A block is begun only where all of it
fits, with the references that stand in it: half of one is worthless, because verdicts compare what
was measured beside each other. What a block that was begun has left is judged run by run.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """A run: the name of its block, "" for none, and its duration in seconds; None: not known."""

    block: str
    duration_s: float | None


def left_out(items: Sequence[Item], room_s: float, begun: Collection[str] = ()) -> set[int]:
    """The places of the runs that are not begun, of runs in turn with ``room_s`` seconds for all.

    ``begun`` are the blocks of which a run is done or under way.
    """
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
