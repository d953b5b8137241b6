"""Files of others -> runs: their names, their repeats and their workload. Pure."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from fsbench_web.core.formats import DETAILS, THE_SAME, repeats
from fsbench_web.core.formats.result import OwnKey, ParsedResult, Problem
from fsbench_web.core.formats.tables.file_numbers import FileNumbers, Samples, run_values
from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns

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
