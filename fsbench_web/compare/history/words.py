"""What is said of a line over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fsbench_web.compare.selection.wording import flag_label
from fsbench_web.compare.tables.verdicts.reasons import NO_SCATTER
from fsbench_web.compare.tables.verdicts.uncertainty import probability
from fsbench_web.core import numbers
from fsbench_web.core.scoring.changes import Change

EMULATED_LINE = "This line was emulated: for function, not for speed."
NO_FLAGS: Mapping[str, int] = MappingProxyType({})
OF_TWO = (
    "Of two points the noise is that of their repeats alone: how much one evening differs from the "
    "next is not in it."
)


@dataclass(frozen=True)
class ShownChange:
    """A change of level in words; ``is_slower`` says which way, ``disk`` whether it is the disk."""

    change: Change
    sentence: str
    is_slower: bool
    disk: str = ""


def shown_change(
    change: Change,
    points: Sequence[tuple[str, tuple[float, ...]]],
    unit: str,
    lower: bool,
    of_first: bool = False,
    flags: Mapping[str, int] = NO_FLAGS,
    is_emulated: bool = False,
) -> ShownChange:
    """``points`` are (name, scores of its repeats), ``lower`` says that less is better,
    ``of_first`` that all are multiples of the first; ``flags`` counts the runs behind the change
    that have each.
    """
    (old, before), (new, after) = points[change.place - 1 : change.place + 1]
    is_slower = (change.change_percent > 0) == lower
    # Zero is also what vanishes: of very many points that scatter by very little.
    is_still = change.p_value == 0 and len(set(before)) == len(set(after)) == 1
    size = f"{numbers.signed_percent(change.change_percent)}%"
    return ShownChange(
        change,
        f"From {old} to {new}: {size}, from {numbers.with_unit(change.before, unit)} to "
        f"{numbers.with_unit(change.after, unit)}: {'slower' if is_slower else 'faster'}, "
        f"significant (p is {probability(change.p_value)})."
        f"{f' {NO_SCATTER}' if is_still else ''}"
        f"{f' {OF_TWO}' if len(points) == 2 else ''}"
        f"{f' 1.00 is {points[0][0]}.' if of_first else ''}"
        f"{flags_in_words(new, flags)}"
        f"{f' {EMULATED_LINE}' if is_emulated else ''}",
        is_slower,
    )


def left_out_in_words(runs: int, along: str) -> str:
    """That runs do not say where in the line they belong; "" for none."""
    if not runs:
        return ""
    words = (
        f"does not say its {along}, and is" if runs == 1 else f"do not say their {along}, and are"
    )
    return f"{runs:,} of its runs {words} left out."


def flags_in_words(point: str, flags: Mapping[str, int]) -> str:
    """What is known of the runs of a point, as a sentence behind another; "" for nothing."""
    parts = [f"{flag_label(flag)} {count}" for flag, count in flags.items()]
    return f" Flagged runs of {point}: {', '.join(parts)}." if parts else ""
