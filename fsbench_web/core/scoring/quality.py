"""Quality flags and the words for them. Pure. Flags change no number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CLOCK = "clock"
ABOVE_DEVICE = "above_device"
BUFFERED = "buffered"
OUTLIER = "outlier"
SPIKE = "spike"
UNSTEADY = "unsteady"
CONTENDED = "contended"
DRIFTED = "drifted"
BUSY = "busy"
SWAPPED = "swapped"
NOT_FLUSHED = "not_flushed"
FAILED_CRASH_POINTS = "failed_crash_points"
OF_RUNS = (CONTENDED, DRIFTED, BUSY, SWAPPED, NOT_FLUSHED, FAILED_CRASH_POINTS)
"""Flags of whole runs; no cell carries them."""
LEAVE_NOTHING_OUT = frozenset({NOT_FLUSHED, FAILED_CRASH_POINTS})
"""Flags of numbers that are sound: what they promise differs, not how they were measured."""
CACHED = "cached"
UNCACHED = "uncached"
EVERY_CELL, SOUND_CELLS = "all", "sound"
CACHED_CELLS, UNCACHED_CELLS = "cached", "uncached"
"""Selections: which cells a score is made of."""

RULES = 5
"""Grows when a rule changes, so that what was judged by an older one can be found and redone."""


@dataclass(frozen=True)
class Flag:
    """``label`` in a word or two, ``of_cells`` in a list of reasons, ``sentence`` to readers."""

    label: str
    of_cells: str
    sentence: str


FLAGS: dict[str, Flag] = {
    CLOCK: Flag(
        "timer resolution",
        "limited by the timer resolution",
        "A data point took fewer than 100 ticks of the tool's timer: its resolution makes it "
        "uncertain by 1% or more.",
    ),
    ABOVE_DEVICE: Flag(
        "exceeds device",
        "exceeding the device",
        "The rate exceeds what the device can deliver: memory was measured, not the disk.",
    ),
    BUFFERED: Flag(
        "buffered",
        "not reached by direct I/O",
        "The run asked for direct I/O, but IOzone's fwrite, refwrite, fread and refread use the "
        "buffered streams of the C library, and so the page cache.",
    ),
    OUTLIER: Flag(
        "outlier",
        "far off in one repeat",
        "One repeat is far from the others, given how much these scatter.",
    ),
    SPIKE: Flag(
        "lone spike",
        "a lone spike",
        "No neighbour in block or file size reaches two thirds of the best.",
    ),
    UNSTEADY: Flag(
        "not steady",
        "of a test that never became steady",
        "The tool reached its time limit before its rate was steady.",
    ),
    CONTENDED: Flag(
        "contended",
        "of a contended repeat",
        "Another run was active on the same host or controller during one of the repeats.",
    ),
    DRIFTED: Flag(
        "drifted",
        "of a repeat while the machine drifted",
        "The reference configuration of the job had changed by 5% or more around one of the "
        "repeats. Either the machine changed, or the reference scatters that much.",
    ),
    BUSY: Flag(
        "busy machine",
        "of a repeat on a busy machine",
        "The machine was busy with other work when one of the repeats began. Its load average, "
        "less what an earlier benchmark left in it, was above 0.5 a processor.",
    ),
    SWAPPED: Flag(
        "may have swapped",
        "of a repeat whose limit of memory was none of swap",
        "The kernel could not limit the swap of one of the repeats, and something was swapped out "
        "meanwhile: it may have had more memory than its limit.",
    ),
    NOT_FLUSHED: Flag(
        "syncs not flushed",
        "of a repeat that flushed the device too rarely",
        "The device got fewer flushes than the syncs of the workload need: synced data can be lost "
        "in a power failure.",
    ),
    FAILED_CRASH_POINTS: Flag(
        "failed crash points",
        "of a configuration that failed crash points",
        "After simulated power cuts acknowledged writes were lost, or the file system was broken.",
    ),
}
LEFT_OUT: dict[str, str] = {
    **{slug: flag.of_cells for slug, flag in FLAGS.items()},
    CACHED: "within the cache",
    UNCACHED: "beyond the cache",
}
"""Why cells are left out of a selection, in words."""


def has_swapped(swap: Mapping[str, Any] | None) -> bool:
    """Whether a run may have swapped beyond its limit of memory (``swap`` of its conditions)."""
    return swap is not None and swap.get("written_bytes") != 0


def ordered(flags: set[str]) -> list[str]:
    """Flags in the order of ``FLAGS``; those it does not know last, by name."""
    return [*(slug for slug in FLAGS if slug in flags), *sorted(flags - set(FLAGS))]


def left_out_in_words(left_out: Mapping[str, Any]) -> str:
    """What a selection left out of a score, and why, in a sentence."""
    cells, taken = left_out["cells"], left_out["numbers"]
    whole = f"{cells} {'whole ' if cells != taken else ''}data point{'s' * (cells != 1)}"
    if cells == taken:
        text = f"{whole} left out"
    else:
        text = f"{taken} of {left_out['of']} numbers left out" + (f", {whole}" if cells else "")
    counts = left_out["why"]
    return f"{text}: " + ", ".join(
        f"{counts[slug]} {LEFT_OUT[slug]}" for slug in LEFT_OUT if slug in counts
    )


# Flags of the numbers of a series, judged over all repeats.
