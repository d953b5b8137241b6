"""A work profile: operations, sizes and loads of your own work, with weights. Pure.

The *cells* of a part are the doublings from its smallest size to its largest; a part without sizes
is a test with one value a run. A change makes a version with the next number.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.core.scoring import loads, testnames

RATIO = "ratio"
"""The weighted geometric mean of ratios of speed to a baseline: for parts of any units (P. J.
Fleming and J. J. Wallace, "How not to lie with statistics: the correct way to summarize benchmark
results", CACM 29(3), 1986). Which baseline is taken changes no ratio of two contenders."""
WORK = "work"
"""The speed at which a given amount of work is done; weights are shares of it: the weighted
harmonic mean of rates (J. E. Smith, "Characterizing computer performance with a single number",
CACM 31(10), 1988; Hoefler and Belli, SC 2015, rule 3); of times their weighted mean."""
TOGETHER = {
    RATIO: "weighted geometric mean of ratios to a baseline",
    WORK: "time that a given amount of work takes (weighted harmonic mean of rates)",
}
MOST_PARTS = 24
MOST_CELLS = 400
MOST_WEIGHT = 1e9
SMALLEST_KB, LARGEST_KB = 1, 2**40
_OPERATION = re.compile(r"[a-z0-9][a-z0-9_.]{0,99}")
_LOAD = re.compile(r"[a-z]+=[0-9]{1,9}(,[a-z]+=[0-9]{1,9}){0,3}")


class ProfileError(ValueError):
    """A profile that cannot be, with all its problems as sentences."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


@dataclass(frozen=True)
class Sizes:
    """From ``least`` to ``most`` KB of 1024 bytes, limits included."""

    least: int
    most: int

    @property
    def doublings(self) -> tuple[int, ...]:
        """``least``, twice that, and so on, as far as ``most``."""
        sizes = [self.least]
        while sizes[-1] * 2 <= self.most:
            sizes.append(sizes[-1] * 2)
        return tuple(sizes)

    @property
    def words(self) -> str:
        if len(self.doublings) == 1:
            return size_words(self.least)
        return f"{size_words(self.least)} to {size_words(self.doublings[-1])}"


@dataclass(frozen=True)
class RequiredCell:
    """One cell of a part: what must have been measured for the part to be scored.

    ``test`` has its load. None: no sizes, or measured in either way.
    """

    test: str
    record_kb: int | None = None
    file_kb: int | None = None
    cached: bool | None = None
    flushed: bool | None = None

    @property
    def words(self) -> str:
        parts = [testnames.in_sentence(self.test)]
        if self.record_kb is not None and self.file_kb is not None:
            parts.append(f"{size_words(self.record_kb)} in {size_words(self.file_kb)}")
        parts += circumstances(self.cached, self.flushed)
        return ", ".join(parts)


@dataclass(frozen=True)
class Part:
    """One kind of I/O of a piece of work; ``weight`` is its share of all of them together."""

    operation: str
    weight: float
    blocks: Sizes | None = None
    files: Sizes | None = None
    load: str = ""
    cached: bool | None = None
    flushed: bool | None = None

    @property
    def test(self) -> str:
        return testnames.at_load(self.operation, self.load)

    @property
    def demands(self) -> tuple[RequiredCell, ...]:
        """Its cells; no block is larger than its file."""
        if self.blocks is None or self.files is None:
            return (RequiredCell(self.test, None, None, self.cached, self.flushed),)
        return tuple(
            RequiredCell(self.test, block, file, self.cached, self.flushed)
            for file in self.files.doublings
            for block in self.blocks.doublings
            if block <= file
        )

    @property
    def words(self) -> str:
        """``Random read, 8 KB to 16 KB in files of 1 GB to 4 GB, beyond the cache``."""
        parts = [testnames.label(self.test)]
        if self.blocks is not None and self.files is not None:
            parts.append(f"{self.blocks.words} in files of {self.files.words}")
        parts += circumstances(self.cached, self.flushed)
        return ", ".join(parts)


@dataclass(frozen=True)
class Profile:
    """A version of a profile; a range has no ``slug`` and ``version`` 0."""

    title: str
    together: str
    parts: tuple[Part, ...]
    summary: str = ""
    source: str = ""
    slug: str = ""
    version: int = 0
    _shares: dict[RequiredCell, float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        total = math.fsum(part.weight for part in self.parts)
        for part in self.parts:
            demands = part.demands
            for demand in demands:
                share = part.weight / total / len(demands)
                self._shares[demand] = self._shares.get(demand, 0.0) + share

    @property
    def shares(self) -> Mapping[RequiredCell, float]:
        """The share of each cell, 1 together: the cells of a part share its weight alike."""
        return self._shares

    @property
    def demands(self) -> tuple[RequiredCell, ...]:
        return tuple(self._shares)

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that it is made of, each once."""
        return tuple(dict.fromkeys(part.test for part in self.parts))

    @property
    def name(self) -> str:
        """As addresses and files have it: ``oltp@1``."""
        return f"{self.slug}@{self.version}" if self.version else self.slug

    @property
    def label(self) -> str:
        return f"{self.title}, version {self.version}" if self.version else self.title

    def is_less_better(self, lower: Mapping[str, bool]) -> bool:
        """Whether its score is a time; ``lower``: whether less is better of each test."""
        return self.together != RATIO and set(lower.values()) == {True}

    def percent_of(self, part: Part) -> float:
        return 100 * part.weight / math.fsum(weighed.weight for weighed in self.parts)

    def as_dict(self) -> dict[str, Any]:
        """The document: what files, API and database have."""
        return {
            "title": self.title,
            "summary": self.summary,
            "source": self.source,
            "together": self.together,
            "parts": [
                {
                    "operation": part.operation,
                    "weight": part.weight,
                    "block_sizes_kb": part.blocks and [part.blocks.least, part.blocks.most],
                    "file_sizes_kb": part.files and [part.files.least, part.files.most],
                    "load": part.load,
                    "cached": part.cached,
                    "flushed": part.flushed,
                }
                for part in self.parts
            ],
        }


def from_dict(data: Mapping[str, Any], *, slug: str = "", version: int = 0) -> Profile:
    """The inverse of ``Profile.as_dict``. Raises ProfileError with all problems."""
    problems: list[str] = []
    others = sorted(set(data) - {"title", "summary", "source", "together", "parts"})
    if others:
        problems.append(f"A profile has no {', '.join(map(str, others))[:100]}.")
    title = _text(data, "title", 120, problems)
    if not title:
        problems.append("A profile needs a title.")
    together = data.get("together", RATIO)
    if together not in TOGETHER:
        problems.append("together is ratio or work.")
    entries = data.get("parts")
    parts = []
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        problems.append("A profile needs parts: one at least.")
    elif len(entries) > MOST_PARTS:
        problems.append(f"A profile has {MOST_PARTS} parts at most, not {len(entries)}.")
    else:
        for number, entry in enumerate(entries, start=1):
            try:
                parts.append(_part(entry))
            except ProfileError as error:
                problems += [f"Part {number}: {problem}" for problem in error.problems]
    summary = _text(data, "summary", 1000, problems)
    source = _text(data, "source", 1000, problems)
    if problems:
        raise ProfileError(problems)
    profile = Profile(title, together, tuple(parts), summary, source, slug, version)
    if len(profile.demands) > MOST_CELLS:
        raise ProfileError([f"Its parts have {len(profile.demands)} cells; {MOST_CELLS} at most."])
    return profile


_OF_PART = {"operation", "weight", "block_sizes_kb", "file_sizes_kb", "load", "cached", "flushed"}


def _part(data: Any) -> Part:
    if not isinstance(data, Mapping):
        raise ProfileError(["it is not a set of fields."])
    problems = []
    if others := sorted(set(data) - _OF_PART):
        problems.append(f"it has no {', '.join(map(str, others))[:100]}.")
    operation = data.get("operation")
    if not isinstance(operation, str) or not _OPERATION.fullmatch(operation):
        problems.append("operation is the name of a test, such as random_read.")
    load = data.get("load") or ""
    if not isinstance(load, str) or (load and not _LOAD.fullmatch(load)):
        problems.append("load is as threads=8.")
    weight = data.get("weight", 1)
    if (
        isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not (math.isfinite(weight) and 0 < weight <= MOST_WEIGHT)
    ):
        problems.append("weight is a number above 0.")
    blocks = _sizes(data, "block_sizes_kb", problems)
    files = _sizes(data, "file_sizes_kb", problems)
    if (blocks is None) != (files is None):
        problems.append("Give both block_sizes_kb and file_sizes_kb, or neither.")
    elif blocks and files and blocks.least > files.doublings[-1]:
        problems.append("its blocks are larger than its files.")
    for name in ("cached", "flushed"):
        if data.get(name) not in (None, True, False) or isinstance(data.get(name), int) != (
            isinstance(data.get(name), bool)
        ):
            problems.append(f"{name} is true, false or null.")
    if problems:
        raise ProfileError(problems)
    assert isinstance(operation, str)
    cached, flushed = data.get("cached"), data.get("flushed")
    return Part(operation, float(weight), blocks, files, load, cached, flushed)


def _sizes(data: Mapping[str, Any], name: str, problems: list[str]) -> Sizes | None:
    limits = data.get(name)
    if limits is None:
        return None
    if (
        not isinstance(limits, Sequence)
        or isinstance(limits, str)
        or len(limits) != 2
        or not all(isinstance(limit, int) and not isinstance(limit, bool) for limit in limits)
        or not SMALLEST_KB <= limits[0] <= limits[1] <= LARGEST_KB
    ):
        problems.append(f"{name} is [smallest, largest] in whole KB, as [8, 16].")
        return None
    return Sizes(limits[0], limits[1])


def _text(data: Mapping[str, Any], name: str, limit: int, problems: list[str]) -> str:
    text = data.get(name) or ""
    if not isinstance(text, str) or len(text) > limit or "\x00" in text:
        problems.append(f"{name} is a text of {limit} characters at most.")
        return ""
    return text.strip()


def circumstances(cached: bool | None, flushed: bool | None) -> list[str]:
    """How something was measured, in words; of what is open nothing."""
    parts = []
    if cached is not None:
        parts.append("within the cache" if cached else "beyond the cache")
    if flushed is not None:
        parts.append("flushed" if flushed else "not flushed")
    return parts


def size_words(kb: int) -> str:
    """``8 KB``, ``64 MB``, ``4 GB``: of 1024, as IOzone's sizes are called."""
    for unit in ("KB", "MB", "GB"):
        if kb < 1024 or kb % 1024:
            return f"{kb:,} {unit}"
        kb //= 1024
    return f"{kb:,} TB"


def load_words(load: str) -> str:
    return loads.words(load) if load else ""
