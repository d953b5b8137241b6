"""Files of others -> runs: their names, their repeats and their workload. Pure."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fsbench_web.core.formats import DETAILS, THE_SAME, repeats
from fsbench_web.core.formats.result import OwnKey, ParsedResult, Problem
from fsbench_web.core.formats.tables.file_numbers import FileNumbers, Samples, run_values
from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns
from fsbench_web.core.scoring.testnames import at_load

# Which files are repeats, and which are parts of one repeat. No database.

Sizes = NDArray[np.complex128]
"""Cells of a test, sorted: record KB + file KB · i, both -1 where there is none."""
Cells = Mapping[str, Sizes]
"""The cells of each test, named with its load."""

_MOST_TESTS = 6


def cells_of(columns: MeasurementColumns) -> Cells:
    sizes = columns.records.astype(np.float64) + 1j * columns.files.astype(np.float64)
    order = np.argsort(columns.codes, kind="stable")
    counts = np.bincount(columns.codes, minlength=len(columns.tests))
    by_test: dict[str, list[Sizes]] = {}
    for test, part in zip(columns.tests, np.split(sizes[order], np.cumsum(counts)), strict=False):
        if len(part):
            by_test.setdefault(at_load(test.test, test.load), []).append(part)
    return {test: _distinct(parts) for test, parts in by_test.items()}


def _distinct(parts: Sequence[Sizes]) -> Sizes:
    """All sizes once, sorted: mostly they come in order, which numpy.unique makes no use of."""
    sizes = np.sort(np.concatenate(parts), kind="stable")
    return sizes[np.append(True, sizes[1:] != sizes[:-1])] if len(sizes) else sizes


class KnownCells:
    """``cells_of``, asked once for all numbers that are of the same: repeats mostly are."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Cells] = {}

    def of(self, columns: MeasurementColumns) -> Cells:
        arrays = (columns.codes, columns.records, columns.files)
        key = *columns.tests, *((array.dtype.str, array.tobytes()) for array in arrays)
        if key not in self._found:
            self._found[key] = cells_of(columns)
        return self._found[key]


@dataclass
class Repeats:
    """What the repeats of a series measured, by their numbers."""

    _last: dict[str, tuple[Sizes, NDArray[np.int64]]] = field(default_factory=dict)
    _parts: dict[int, list[Cells]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, repeat: int, cells: Cells) -> None:
        """Add cells that a repeat measured; it had none of these before."""
        self._parts.setdefault(repeat, []).append(cells)
        for test, sizes in cells.items():
            known_sizes, last = self._last.get(test, (sizes[:0], np.zeros(0, dtype=np.int64)))
            if known_sizes is sizes or np.array_equal(known_sizes, sizes):  # as repeats mostly are
                self._last[test] = known_sizes, np.maximum(last, repeat)
                continue
            all_sizes = _distinct([known_sizes, sizes])
            latest = np.full(len(all_sizes), -1, dtype=np.int64)
            latest[np.searchsorted(all_sizes, known_sizes)] = last
            places = np.searchsorted(all_sizes, sizes)
            latest[places] = np.maximum(latest[places], repeat)
            self._last[test] = all_sizes, latest

    def parts(self, repeat: int) -> int:
        return len(self._parts.get(repeat, ()))

    def places(self, cells: Cells) -> list[int]:
        """The repeats that these may be part of: those after the last that has any of them."""
        last = -1  # repeats may begin at 0
        for test, sizes in cells.items():
            if test in self._last:
                known_sizes, last_repeats = self._last[test]
                matching = last_repeats[np.isin(known_sizes, sizes, assume_unique=True)]
                last = max([last, *matching.tolist()])
        return sorted(repeat for repeat in self._parts if repeat > last)

    def has_any(self, repeat: int, cells: Cells) -> bool:
        return any(
            len(np.intersect1d(part[test], sizes, assume_unique=True))
            for part in self._parts.get(repeat, ())
            for test, sizes in cells.items()
            if test in part
        )

    @property
    def unequal(self) -> list[int]:
        total = sum(len(all_sizes) for all_sizes, _ in self._last.values())
        return [
            repeat for repeat in sorted(self._parts) if sum(self._counts(repeat).values()) < total
        ]

    def _counts(self, repeat: int) -> Counter[str]:
        counts: Counter[str] = Counter()
        for part in self._parts[repeat]:
            counts.update({test: len(sizes) for test, sizes in part.items()})
        return counts

    def missing_cells(self, repeat: int) -> str:
        """What others have measured and this one has not, in words."""
        counts = self._counts(repeat)
        lacking_tests = [
            (test, len(all_sizes) - counts[test], len(all_sizes))
            for test, (all_sizes, _) in self._last.items()
            if len(all_sizes) > counts[test]
        ]
        lacking, total = (
            sum(entry[1] for entry in lacking_tests),
            sum(len(sizes) for sizes, _ in self._last.values()),
        )
        named = [
            test
            if expected == 1
            else f"{test} ({'all' if count == expected else count} of {expected})"
            for test, count, expected in lacking_tests[:_MOST_TESTS]
        ]
        if (more := len(lacking_tests) - _MOST_TESTS) > 0:
            named.append(f"and {more:,} more test{'s' if more > 1 else ''}")
        return f"{lacking:,} of the {total:,} values of its repeats: {', '.join(named)}"


# A digest over the numbers of a run, in any order: equal for the same measurement.

Words = NDArray[np.uint64]
_PIECE = 65_536


@dataclass(frozen=True)
class Content:
    """The digest of some numbers; ``twice`` are the places of two numbers of one cell, if any."""

    digest: str
    twice: tuple[int, int] | None


@lru_cache(maxsize=4096)
def _of_test(test: MeasuredTest) -> int:
    named = "\x1f".join((test.test, test.load, test.unit)).encode()
    return int.from_bytes(hashlib.sha256(named).digest()[:8], "big")


def _words(columns: MeasurementColumns) -> list[Words]:
    """Test, sizes and value of each number, such that numbers sort as the bytes of cells do."""
    tests = np.array([_of_test(test) for test in columns.tests], dtype=np.uint64)
    return [
        tests[columns.codes],
        columns.records.astype(np.int64).view(np.uint64),
        columns.files.astype(np.int64).view(np.uint64),
        columns.values.astype(np.float64).view(np.uint64),
    ]


def content_of(blocks: Sequence[MeasurementColumns]) -> Content:
    if not blocks:
        return Content(hashlib.sha256().hexdigest(), None)
    first, *more = map(_words, blocks)
    words = [np.concatenate(arrays) for arrays in zip(first, *more, strict=True)] if more else first
    order = np.lexsort(words[2::-1])
    digest, twice = hashlib.sha256(), None
    for start in range(0, len(order), _PIECE):
        # With the cell before it, which may be the same.
        before = max(start - 1, 0)
        places = order[before : start + _PIECE]
        cells = np.stack([word[places] for word in words], axis=1).astype(">u8")
        digest.update(cells[start - before :].tobytes())
        repeated = np.flatnonzero((cells[1:, :3] == cells[:-1, :3]).all(axis=1))
        if len(repeated):
            twice = int(places[repeated[0]]), int(places[repeated[0] + 1])
            # Such cells are in order by their values.
            order = np.lexsort(words[::-1])
            cells = np.stack([word[order] for word in words], axis=1).astype(">u8")
            digest = hashlib.sha256(cells.tobytes())
            break
    return Content(digest.hexdigest(), twice)


def digest_of(*blocks: MeasurementColumns) -> str:
    return content_of(blocks).digest


_TITLES = {"iozone": "IOzone", "postmark": "PostMark", "ior": "IOR", "phoronix": "Phoronix"}
_MOST_COMPARED = 300_000
"""How many numbers of files that may be repeats are checked for being far apart."""


def natural_order(path: str) -> list[tuple[int, int, str]]:
    """Sort key: run2 before run10."""
    words = re.split("([0-9]+)", path.lower())
    return [(0, int(word[:18]), word) if word.isdigit() else (1, 0, word) for word in words]


def written_label(text: str) -> str:
    """A table's label as fsbench writes it: ``XFS noatime`` is ``xfs_noatime``."""
    return re.sub(r"\s+", "_", text.strip().lower())


def as_label(text: str) -> str:
    """A folder's name in the characters of a label."""
    return re.sub("[^a-z0-9_-]+", "_", text.lower()).strip("_-")[:120]


def names_of(path: str) -> tuple[str, str]:
    """A file's name as a label, and without the number of a repeat at its end."""
    stem = as_label(re.sub(r"\.[A-Za-z0-9]{1,5}$", "", path.rsplit("/", 1)[-1]))
    return stem, re.sub("[_-]?(run|repeat|rep)?[_-]?(?<![0-9])[0-9]+$", "", stem)


def stem_of(path: str) -> str:
    """A file's name without the number of a repeat: what repeats of one measurement share."""
    return names_of(path)[1]


def name_before_number(path: str) -> str:
    """What stands before the number of a file's name: base of base-1.txt; "" where none does."""
    stem, bare = names_of(path)
    return bare if bare != stem else ""


def same_numbers_in(files: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Paths of files that repeat the numbers of another in their folder, each with that path."""
    results: dict[tuple[str, str], str] = {}
    for path, kind in files:
        results.setdefault((path.rpartition("/")[0], kind), path)
    details = {
        path: results[folder, result]
        for path, kind in files
        for folder in [path.rpartition("/")[0]]
        for result in DETAILS.get(kind, ())
        if (folder, result) in results
    }
    kinds = [(path, kind) for path, kind in files if kind in THE_SAME]
    best: dict[str, tuple[str, str]] = {}
    duplicates = {}
    for path, kind in sorted(kinds, key=lambda pair: THE_SAME.index(pair[1])):
        first = best.setdefault(path.rpartition("/")[0], (path, kind))
        if kind != first[1]:
            duplicates[path] = first[0]
    return duplicates | details


def _slug_of_tool(tool: str) -> str:
    """Tools have names of ASCII letters, digits and signs: ``bonnie++`` is bonnie."""
    plain = re.sub(r"[^a-z0-9_\s-]", "", tool.lower())
    return re.sub(r"[-\s]+", "-", plain).strip("-_")


def workload_name(parsed: ParsedResult, tests: Iterable[MeasuredTest]) -> tuple[str, str]:
    """Slug and title of a tool's workload; other modes (fsync) are another workload."""
    tool = _TITLES.get(parsed.tool, parsed.tool)
    slug, title = f"{_slug_of_tool(parsed.tool)}-imported"[:60], f"{tool} (imported)"
    if parsed.tool == "iozone" and any(test.load for test in tests):
        # -t measures other things than the matrix: neither is a repeat of the other.
        slug, title = "iozone-throughput-imported", "IOzone throughput (imported)"
    if parsed.modes:
        digest = hashlib.sha256(json.dumps(parsed.modes).encode()).hexdigest()
        slug, title = f"{slug}-{digest[:12]}", f"{title}: {'; '.join(parsed.modes)}"[:200]
    return slug, title


PlacedRun = tuple[str, str, str, int | None, str, str, list[OwnKey], MeasurementColumns, Samples]
"""File system, configuration, hardware, repeat, block, kernel; the file's own keys; numbers."""


def placed_runs(numbers: FileNumbers, said: OwnKey) -> Iterator[PlacedRun]:
    """The runs of a file. What the file itself says goes before what is ``said`` of it."""
    filesystem, configuration, hardware, repeat, block, kernel = said
    own_keys: dict[OwnKey, list[OwnKey]] = defaultdict(list)  # by what is said, by anybody
    for own in numbers.keys:
        key = (
            (own[0] or filesystem).strip().lower(),
            # A table that names file systems and no more: each is a configuration by its name.
            written_label(own[1]) or configuration.strip() or written_label(own[0]),
            (own[2] or hardware).strip(),
            own[3] if own[3] is not None else repeat,
            own[4] or block,
            (own[5] or kernel).strip(),
        )
        own_keys[key].append(own)
    names = {own: key for key, owns in own_keys.items() for own in owns}
    placed = numbers.regrouped([names[own] for own in numbers.keys])
    for key, columns, samples in placed.runs():
        yield (*key, own_keys[key], columns, samples)


def far_apart(files: Iterable[tuple[str, MeasurementColumns]]) -> tuple[str, Problem] | None:
    """The file with the number that is farthest from that of another file, and what to say."""
    found = ((value, file) for file, columns in files for value in run_values(columns))
    values = list(islice(found, _MOST_COMPARED))
    file_of = {id(value): file for value, file in values}
    pair = repeats.far_apart(value for value, _ in values)
    if pair is None or file_of[id(pair[0])] == file_of[id(pair[1])]:
        return None
    first, second = pair
    place = f"line {first.line} of {file_of[id(first)]}"
    return file_of[id(second)], repeats.apart(pair, place, second.line)
