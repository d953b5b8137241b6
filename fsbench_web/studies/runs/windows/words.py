"""What is said of the times of a job and of what they leave out: on pages, in the API, in runs."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from django.utils import timezone

MOST_NAMED = 6
_NUMBER = re.compile(r"block ([0-9]+)$")
OF_REFERENCE = "the reference"


def time(moment: datetime) -> str:
    """A time in the site's zone, which is said: "2026-11-23 06:00 UTC"."""
    return f"{timezone.localtime(moment):%Y-%m-%d %H:%M %Z}"


def block_number(block: str) -> int | None:
    """That of ``new_runs.block_of``; None for a run in no block."""
    match = _NUMBER.search(block)
    return int(match[1]) if match else None


def left_out(rows: Iterable[tuple[int | None, str]]) -> str:
    """Runs that are left out, each as (its block, its configuration), by blocks in a few words:
    "rounds 3 to 5 of ext4, xfs".
    """
    by_block: dict[int | None, dict[str, int]] = {}
    for block, label in rows:
        labels = by_block.setdefault(block, {})
        labels[label] = labels.get(label, 0) + 1
    rows_of_blocks = sorted(
        (block, tuple(sorted(labels))) for block, labels in by_block.items() if block is not None
    )
    parts = [
        _blocks([block for block, _ in group], names)
        for names, group in groupby(rows_of_blocks, key=itemgetter(1))
    ]
    parts += [
        f"{count} run{'' if count == 1 else 's'} of {label}"
        for label, count in by_block.get(None, {}).items()
    ]
    return _first_names(parts, "; ")


def _blocks(numbers: Sequence[int], labels: Sequence[str]) -> str:
    text = f"round {numbers[0]}"
    if len(numbers) > 1:
        is_row = numbers[-1] - numbers[0] == len(numbers) - 1
        span = (
            f"{numbers[0]} to {numbers[-1]}"
            if is_row
            else _first_names(list(map(str, numbers)), ", ")
        )
        text = f"rounds {span}"
    return f"{text} of {_first_names(labels, ', ')}"


def _first_names(names: Sequence[str], between: str) -> str:
    text = between.join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{text} and {more} more" if more > 0 else text
