"""Which of the style sheet's seven series colours a contender has, on every page the same.

The colours are Okabe and Ito's, which people with colour-blindness tell apart. The page's style
sheet holds them (``--series-1`` to ``--series-7``), lighter on dark pages; figures name a series by
number in ``meta`` and ``static/js/figures.js`` looks the colour up. The values here are the light
ones, for a figure drawn without a page.
"""

import re
from collections.abc import Sequence

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5588f", "#a87800", "#3c8fc4", "#5b6670")
_KNOWN = {
    "ext3": 1,
    "xfs": 2,
    "jfs": 3,
    "ext4": 4,
    "reiser3": 5,
    "reiserfs": 5,
    "ext2": 6,
    "btrfs": 7,
    "reiser4": 4,
    "ufs": 7,
}


def series_of(names: Sequence[str]) -> list[int]:
    """The series number (1 to 7) of each name: a file system's own, else the next free one.

    ``ext3_wb_noatime`` and ``ext3@suse-10.0`` have the colour of ext3. Names that are no
    file system share out the colours in order, and start again after the seventh.
    """
    numbers: list[int] = []
    others: dict[str, int] = {}
    for name in names:
        known = _KNOWN.get(re.split("[_@]", name, maxsplit=1)[0].lower())
        if known is None:
            known = others.setdefault(name, len(others) % len(COLOURS) + 1)
        numbers.append(known)
    return numbers


def colour(number: int) -> str:
    """The light colour of series ``number``, from 1."""
    return COLOURS[number - 1]
