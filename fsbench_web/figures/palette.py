"""How a contender looks: colour, marker and dash, the same in every chart of a page.

The colours are based on Okabe and Ito's; markers and dashes differ wherever colours do, and where
colours repeat. Figures number a series in ``meta``; ``static/js/figures.js`` looks the colour up.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "2px,6px")
MOST = 7
"""As many colours as there are; markers and dashes come with them as often as there are of them."""
LOOKS = MOST**3
"""Of colour, marker and dash together: more than any chart draws (24 panels of 10 contenders)."""
_KNOWN = {
    **{"ext3": 1, "xfs": 2, "jfs": 3, "ext4": 4, "reiser3": 5, "reiserfs": 5, "ext2": 6},
    **{"btrfs": 7, "f2fs": 8, "zfs": 9, "nilfs2": 10, "reiser4": 11, "bcachefs": 12, "ntfs": 13},
    **{"ntfs3": 13, "ufs": 14, "exfat": 15},
}


@dataclass(frozen=True)
class Style:
    """One of the looks, from 1: seven colours, then these again with other markers and dashes."""

    number: int

    @property
    def series(self) -> int:
        """The number of its colour, from 1."""
        return (self.number - 1) % MOST + 1

    @property
    def symbol(self) -> str:
        return SYMBOLS[(self.series - 1 + 3 * self._round) % MOST]

    @property
    def dash(self) -> str:
        return DASHES[(self.series - 1 + 2 * self._round + self._round // MOST) % MOST]

    @property
    def _round(self) -> int:
        return (self.number - 1) // MOST


def styles(names: Sequence[str], among: Iterable[str] = ()) -> list[Style]:
    """How each name looks; ``among`` are all that charts of the page may show.

    A file system has a look of its own, and so has its first configuration; other names have one by
    their letters. Of two with the same, the first in the alphabet keeps it. Up to seven names get
    different colours, up to LOOKS different looks.
    """
    by_name = styles_by_name(names, among)
    return [by_name[name] for name in names]


def styles_by_name(names: Iterable[str], among: Iterable[str] = ()) -> dict[str, Style]:
    """The look of each of ``names``, as ``styles`` says."""
    drawn = set(names)
    by_name = assigned(drawn.union(among))
    if len({(by_name[name].number - 1) % LOOKS for name in drawn}) < min(len(drawn), LOOKS):
        # Of a page of more names than looks: what stands in one chart is told apart all the same.
        by_name = assigned(drawn)
    return {name: by_name[name] for name in drawn}


def assigned(among: Iterable[str]) -> dict[str, Style]:
    """The look of each of these names."""
    return _assigned(tuple(sorted(set(among), key=_priority)))


def _priority(name: str) -> tuple[bool, bool, str]:
    """Who is given a look first: file systems, of these the ones with a colour of their own."""
    return (name not in _KNOWN, _KNOWN.get(name, 0) > MOST, name)


@lru_cache(maxsize=8)
def _assigned(names: tuple[str, ...]) -> dict[str, Style]:
    # All charts of a page ask for the same names.
    is_few = len(names) <= MOST
    taken: dict[int, str] = {}
    for name in names:
        taken[_free_look(_preferred_look(name), taken, is_few=is_few)] = name
    return {name: Style(number) for number, name in taken.items()}


def _preferred_look(name: str) -> int:
    number = _KNOWN.get(file_system_of(name))
    return crc32(name.encode()) % MOST + 1 if number is None else number


def _free_look(wish: int, taken: dict[int, str], *, is_few: bool) -> int:
    """The look that is wished for, or the next that is free: another colour of few."""
    colours = {Style(number).series for number in taken}
    if wish not in taken and not (is_few and Style(wish).series in colours):
        return wish
    if is_few:
        others = (number for number in range(1, MOST + 1) if number not in colours)
        if (number := next(others, None)) is not None:
            return number
    if len(taken) >= LOOKS:
        return len(taken) + 1
    same_colour = range(Style(wish).series, LOOKS + 1, MOST)
    return next(number for number in (*same_colour, *range(1, LOOKS + 1)) if number not in taken)


def file_system_of(name: str) -> str:
    """What a name begins with: ``ext3`` of ``ext3_wb_noatime`` and of ``ext3@suse-10.0``."""
    return re.split("[_@]", name, maxsplit=1)[0].lower()
