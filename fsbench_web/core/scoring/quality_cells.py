"""Flags of numbers as boolean columns; sizes in KB, negative for none. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, isfinite, log
from statistics import median, median_low

import numpy as np
import numpy.typing as npt

from fsbench_web.core.distributions import stdtrit
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN, Cell
from fsbench_web.core.units import RATE, unit_factor

# The boundary between cache and device along the file size.

LEAST_SIZES = 5
LEAST_ON_EACH_SIDE = 2
LEAST_FALL = 2.0
LEAST_EXPLAINED = 0.6
LEAST_SHARE_OF_MEMORY = 0.02
MOST_SIZES = 128
"""A record size with more file sizes is not looked at: the search takes the square of them."""


@dataclass(frozen=True)
class CacheEdge:
    """The last file size within the cache and the first beyond it, in KB."""

    cached_kb: int
    uncached_kb: int


@dataclass(frozen=True)
class Boundary:
    """Edges by record size in KB; ``observed_kb`` show their own; ``fall``: median ratio."""

    edges: Mapping[int, CacheEdge]
    observed_kb: frozenset[int]
    fall: float

    def is_cached(self, cell: Cell) -> bool:
        """Which side of the boundary a cell is on; KeyError for an unknown record size."""
        record_kb, file_kb = cell
        return file_kb <= self.edges[record_kb].cached_kb


def edge(speeds: Mapping[int, float]) -> tuple[CacheEdge, float] | None:
    """The edge of one record size and its fall; None: none. ``speeds``: {file size KB: speed}."""
    points = sorted((kb, speed) for kb, speed in speeds.items() if isfinite(speed) and speed > 0)
    if not LEAST_SIZES <= len(points) <= MOST_SIZES:
        return None
    sizes = [kb for kb, _ in points]
    logs = [log(speed) for _, speed in points]
    whole = _spread(logs)
    splits = range(LEAST_ON_EACH_SIDE, len(logs) - LEAST_ON_EACH_SIDE + 1)
    # Where two splits are as good, the one with the larger fall between its neighbours.
    spread, _, split = min(
        (_spread(logs[:k]) + _spread(logs[k:]), logs[k] - logs[k - 1], k) for k in splits
    )
    fall = median(logs[:split]) - median(logs[split:])
    # A billionth for rounding: a fall to exactly a half is one.
    if fall < log(LEAST_FALL) - 1e-9 or spread > (1 - LEAST_EXPLAINED) * whole + 1e-9:
        return None
    return CacheEdge(sizes[split - 1], sizes[split]), exp(fall)


def boundary(speeds: Mapping[Cell, float], memory_kb: float | None = None) -> Boundary | None:
    """The boundary of one test from median speeds by cell; None if too few records have one."""
    rows: dict[int, dict[int, float]] = {}
    for (record_kb, file_kb), speed in speeds.items():
        rows.setdefault(record_kb, {})[file_kb] = speed
    able = [record for record, row in rows.items() if LEAST_SIZES <= len(row) <= MOST_SIZES]
    least_kb = LEAST_SHARE_OF_MEMORY * memory_kb if memory_kb else 0.0
    seen = {
        record: edge_and_fall
        for record in able
        if (edge_and_fall := edge(rows[record])) is not None
        and edge_and_fall[0].uncached_kb >= least_kb
    }
    if not seen or 2 * len(seen) < len(able):
        return None
    usual = CacheEdge(
        median_low([cache_edge.cached_kb for cache_edge, _ in seen.values()]),
        median_low([cache_edge.uncached_kb for cache_edge, _ in seen.values()]),
    )
    return Boundary(
        {record: seen[record][0] if record in seen else usual for record in rows},
        frozenset(seen),
        median([fall for _, fall in seen.values()]),
    )


def _spread(values: Sequence[float]) -> float:
    centre = median(values)
    return sum(abs(value - centre) for value in values)


Numbers = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LEAST_TICKS = 100
"""Below so many ticks one tick more or less changes a rate by more than 1%."""
IOZONE_TICK_S = 1e-6
"""IOzone takes times with gettimeofday(2), which counts microseconds."""
POSTMARK_TICK_S = 1.0
"""PostMark takes times with time(2), which counts seconds."""
HEADROOM = 1.25
"""How far above the best rate seen with direct I/O a rate may be and still be the device's."""

LEAST_REPEATS = 4
"""Of three, Grubbs' test at 1% flags one that is 230 deviations of the other two away: never."""
OUTLIER_LEVEL = 0.01
OUTLIERS_OF = 4
"""At most one of so many repeats is an outlier; of two out of five nobody knows which."""
MOST_OUTLIERS = 10
MOST_DECIMALS = 6
SPIKE_RATIO = 1.5
LEAST_NEIGHBOURS = 2
LEAST_CELLS = 8
_BUFFERED_TESTS = frozenset({"fwrite", "refwrite", "fread", "refread"})
_ONE_OF_SEVERAL = re.compile(r"_(min|max|avg)$")
_WORKERS = re.compile(r"(?:^|,)(?:threads|processes)=([0-9]{1,9})")


def iozone_test(test: str) -> str:
    """IOzone's own name of a test: ``write_min@threads=4`` is write. Empty for other tools."""
    name = _ONE_OF_SEVERAL.sub("", test.partition("@")[0].removesuffix("_parent"))
    return name if name in testnames.IOZONE_TESTS else ""


def seconds(test: str, unit: str, records: Numbers, files: Numbers, values: Numbers) -> Numbers:
    """How long each cell of an IOzone test took; NaN where unknown.

    Each of the thirteen tests moves its whole file, so a cell took file size / rate; in ops/s,
    (file size / record size) / rate; in µs, that many operations of this length. n processes move n
    files together; the smallest, largest and mean rate are of one. Source: iozone(1), iozone.c.
    """
    name, _, load = test.partition("@")
    workers = 1.0
    if not _ONE_OF_SEVERAL.search(name) and (match := _WORKERS.search(load)):
        workers = float(match[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        operations = np.where(records > 0, files / records, np.nan)
        if (times := _kb_s(unit)) is not None:
            durations = workers * files / (values * times)
        elif unit == "ops/s":
            durations = workers * operations / values
        elif unit == "µs":
            durations = operations * values * 1e-6
        else:
            durations = np.full(len(values), np.nan)
    return np.where(_measured(values) & (files > 0), durations, np.nan)


def clock_limited(took_s: Numbers, tick_s: float) -> Mask:
    """Cells that took fewer than LEAST_TICKS ticks: one tick more or less is 1% or more of them."""
    with np.errstate(invalid="ignore"):
        return np.asarray(took_s < LEAST_TICKS * tick_s, dtype=np.bool_)


def rates_kb_s(unit: str, records: Numbers, values: Numbers) -> Numbers:
    """The rate of data of each value, KB/s, an operation being one record; NaN if unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if (times := _kb_s(unit)) is not None:
            rates = values * times
        elif unit == "ops/s":
            rates = np.where(records > 0, values * records, np.nan)
        elif unit == "µs":
            rates = np.where(records > 0, records / (values * 1e-6), np.nan)
        else:
            rates = np.full(len(values), np.nan)
    return np.where(_measured(values), rates, np.nan)


def _kb_s(unit: str) -> float | None:
    """How many KB/s of 1024 bytes are one of a rate of data; KB/s are always taken for these."""
    if unit == "KB/s":
        return 1.0
    meaning = unit_factor(unit)
    return (
        float(meaning.factor / 1024) if meaning is not None and meaning.dimension == RATE else None
    )


def above_device(rates: Numbers, limit_kb_s: float) -> Mask:
    """Rates above ``limit_kb_s``: stated, or HEADROOM times the best rate of direct I/O."""
    with np.errstate(invalid="ignore"):
        return np.asarray(rates > limit_kb_s, dtype=np.bool_)


def is_buffered(test: str, is_direct: bool) -> bool:
    """Whether direct I/O was asked for and stdio (fwrite, fread) used the page cache."""
    return is_direct and iozone_test(test) in _BUFFERED_TESTS


def requests_direct_io(modes: Collection[object]) -> bool:
    """Whether settings as tools print them ask for direct I/O; of several jobs every one must."""
    return _says(_DIRECT, modes) is True


def includes_flush(modes: Collection[object]) -> bool | None:
    """Whether the settings include fsync in the times; None if unknown."""
    if all(_OF_REPORT.fullmatch(str(mode)) for mode in modes):
        return None
    return _says(_FLUSH, modes)


_DIRECT = re.compile(r"(?<![a-z])(?:use)?(?:o_?)?direct(?:[ _]?io)?(?![a-z])", re.IGNORECASE)
"""Not GPUDirect, nor the directories that are counted."""
_FLUSH = re.compile(
    r"(?<!create_)fsync|fdatasync|flush|o_d?sync|(?<![a-z_])sync=(?:1|d?sync)\b", re.IGNORECASE
)
"""fio syncs the files that it lays out (create_fsync) before it measures anything."""
_OF_REPORT = re.compile(r"(?:.+: )?(?:rw|bs|ioengine)=.*")
_IS_OFF = re.compile(r"[=:\s](?:0|false|no|none|off|disabled)\s*$", re.IGNORECASE)
_OF_JOB = re.compile(r"(?P<job>.+): (?P<setting>[a-z][a-z0-9_]*(?:=.*)?)")
"""How a setting of one of fio's several jobs is written."""


def _says(words: re.Pattern[str], modes: Collection[object]) -> bool | None:
    """Whether the settings of every job say so; None where those of some do."""
    jobs: dict[str, bool] = {}
    for mode in map(str, modes):
        of_job = _OF_JOB.fullmatch(mode)
        job, setting = (of_job["job"], of_job["setting"]) if of_job else ("", mode)
        said = words.search(setting) is not None and _IS_OFF.search(setting) is None
        jobs[job] = jobs.get(job, False) or said
    # What is said of no job is said of all.
    if jobs.pop("", False):
        return True
    return None if len(set(jobs.values())) > 1 else any(jobs.values())


def _measured(values: Numbers) -> Mask:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(values) & (values > 0), dtype=np.bool_)


def outliers(records: Whole, files: Whole, values: Numbers) -> Mask:
    """Values far from the other repeats of their cell.

    The generalized ESD test at 1% (B. Rosner, Technometrics 25, 1983), rounding included.
    """
    positions = np.flatnonzero(np.isfinite(values) & (values > 0))
    flagged = np.zeros(len(values), dtype=np.bool_)
    if len(positions) < LEAST_REPEATS:
        return flagged
    x = values[positions]
    cell, counts = cells_of(records[positions], files[positions])
    enough = counts[cell] >= LEAST_REPEATS
    positions, x, cell = positions[enough], x[enough], cell[enough]
    if not len(positions):
        return flagged
    rounding = _steps(cell, x, len(counts)) ** 2 / 12
    is_left = np.ones(len(x), dtype=np.bool_)
    left_in = np.zeros(len(x), dtype=np.int64)
    last_round = np.zeros(len(counts), dtype=np.int64)
    for this_round in range(1, MOST_OUTLIERS + 1):
        n = np.bincount(cell[is_left], minlength=len(counts))
        mean = np.bincount(cell, np.where(is_left, x, 0.0), len(counts)) / np.maximum(n, 1)
        off = np.where(is_left, np.abs(x - mean[cell]), 0.0)
        variance = np.bincount(cell, off * off, len(counts)) / np.maximum(n - 1, 1) + rounding
        farthest = np.zeros(len(counts))
        np.maximum.at(farthest, cell, off)
        # Values of one distance leave together: nothing but their order would choose among them.
        leaves = is_left & (off > 0) & (off >= farthest[cell] * (1 - 1e-9))
        gone = counts - n + np.bincount(cell[leaves], minlength=len(counts))
        has_room = gone <= counts // OUTLIERS_OF
        leaves &= has_room[cell]
        if not leaves.any():
            break
        left_in[leaves] = this_round
        is_left &= ~leaves
        last_round[has_room & (farthest > _critical_distance(n) * np.sqrt(variance))] = this_round
    flagged[positions] = (left_in > 0) & (left_in <= last_round[cell])
    return flagged


def _critical_distance(n: Whole) -> Numbers:
    """How many deviations the farthest of ``n`` values may be from their mean, at 1%."""
    freedom = np.maximum(n - 2, 1)
    t = stdtrit(freedom, 1 - OUTLIER_LEVEL / (2 * np.maximum(n, 3)))
    return np.asarray((n - 1) * t / np.sqrt((freedom + t * t) * np.maximum(n, 1)))


def _steps(cell: Whole, values: Numbers, cells: int) -> Numbers:
    """The place of the last decimal that any value of each cell has: 0.1 of 2.5 and 3."""
    decimals = np.zeros(cells, dtype=np.int64)
    for place in range(MOST_DECIMALS):
        scaled = values * 10.0**place
        decimals[cell[np.abs(scaled - np.rint(scaled)) > 1e-14 * scaled]] = place + 1
    return np.asarray(10.0**-decimals)


def spikes(
    runs: Whole, records: Whole, files: Whole, values: Numbers, lower_is_better: bool = False
) -> Mask:
    """The best value of each run if above 1.5 times its best neighbour in record and file size."""
    flagged = np.zeros(len(values), dtype=np.bool_)
    sized = np.flatnonzero((records >= 0) & (files >= 0) & np.isfinite(values) & (values > 0))
    sized = sized[np.argsort(runs[sized], kind="stable")]
    for places in np.split(sized, np.flatnonzero(np.diff(runs[sized])) + 1):
        if len(places) < LEAST_CELLS:
            continue
        speed = 1.0 / values[places] if lower_is_better else values[places]
        best = np.flatnonzero(speed == speed.max())
        if len(best) > 1:
            continue
        near = _near(records[places], best[0]) & _near(files[places], best[0])
        near[best] = False
        is_spike = speed[best] > SPIKE_RATIO * speed.max(where=near, initial=0.0)
        flagged[places[best]] = is_spike & (np.count_nonzero(near) >= LEAST_NEIGHBOURS)
    return flagged


def _near(sizes: Whole, place: int) -> Mask:
    """Which sizes are the one at this place, or next to it."""
    known = np.unique(sizes)
    at = int(np.searchsorted(known, sizes[place]))
    return (sizes >= known[max(at - 1, 0)]) & (sizes <= known[min(at + 1, len(known) - 1)])


def cells_of(records: Whole, files: Whole) -> tuple[Whole, Whole]:
    """The number of each value's cell, and how many values each cell has."""
    order = np.lexsort((files, records))
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (np.diff(records[order]) != 0) | (np.diff(files[order]) != 0)
    cell = np.empty(len(order), dtype=np.int64)
    cell[order] = np.cumsum(starts) - 1
    return cell, np.bincount(cell).astype(np.int64)


def cell_medians(records: Whole, files: Whole, values: Numbers) -> dict[Cell, float]:
    """The median of the repeats of each cell: {(record KB, file KB): value}; sized cells alone."""
    repeats: dict[Cell, list[float]] = defaultdict(list)
    sized = (records >= 0) & (files >= 0) & np.isfinite(values)
    columns = (records[sized], files[sized], values[sized])
    for record, file, value in zip(*(column.tolist() for column in columns), strict=True):
        repeats[record, file].append(value)
    return {cell: median(of_cell) for cell, of_cell in repeats.items()}


class MixedMeasurements(ValueError):
    """Measurements of one test without a score: two units, or cells and a mean."""


@dataclass(frozen=True)
class TestColumns:
    """The numbers of one test: run (any integers), record KB, file KB (negative: none), value."""

    runs: Whole
    records: Whole
    files: Whole
    values: Numbers

    def __len__(self) -> int:
        return len(self.values)

    def subset(self, selection: Mask | Whole) -> "TestColumns":
        return TestColumns(
            self.runs[selection],
            self.records[selection],
            self.files[selection],
            self.values[selection],
        )

    def region(self, category: str) -> Mask:
        """Which numbers lie in the region of a category; all for those without one."""
        region = None if category == MEAN else CATEGORIES[category].region
        if region is None:
            return np.ones(len(self), dtype=np.bool_)
        inside: Mask = (self.records >= region.minimum_record_kb) & (
            self.records <= region.maximum_record_kb
        )
        inside &= (self.files >= region.minimum_file_kb) & (self.files <= region.maximum_file_kb)
        return inside

    @cached_property
    def cells(self) -> Whole:
        """A number for the cell of each number, the same where cells are, all from 0."""
        return cells_of(self.records, self.files)[0]

    @cached_property
    def by_run(self) -> tuple[Whole, Whole]:
        """The runs there are, in order, and the place in them of each number's."""
        runs, places = np.unique(self.runs, return_inverse=True)
        return runs, places

    def repeats(self) -> dict[int, dict[Cell, float]]:
        repeats: dict[int, dict[Cell, float]] = {run: {} for run in self.by_run[0].tolist()}
        columns = (self.runs, self.records, self.files, self.values)
        for run, record, file, value in zip(*(column.tolist() for column in columns), strict=True):
            repeats[run][record, file] = value
        return repeats

    def values_by_run(self) -> dict[int, list[float]]:
        values: dict[int, list[float]] = {run: [] for run in self.by_run[0].tolist()}
        for run, value in zip(self.runs.tolist(), self.values.tolist(), strict=True):
            values[run].append(value)
        return values

    def is_matrix(self, test: str) -> bool:
        """Whether the numbers have sizes. Raises MixedMeasurements where some have."""
        sized = self.records >= 0
        if sized.all() != sized.any():
            raise MixedMeasurements(f"{test} has values with sizes and values without.")
        return bool(sized.all())
