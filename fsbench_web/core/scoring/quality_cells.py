"""Flags of one number by itself: the clock, the device, direct I/O that did not happen. Pure.

Numbers come as columns of equal length: sizes in KB of 1024 bytes (a negative one: no size), and
values in ``unit``. Answers are masks over them. A value that is not a positive finite number is
never flagged, because nothing was measured there.
"""

import re
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from fsbench_web.core.units import RATE, unit_factor

Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LEAST_TICKS = 100
"""Below so many ticks one tick more or less changes a rate by more than 1%."""
IOZONE_TICK_S = 1e-6
"""IOzone takes times with gettimeofday(2), which counts microseconds."""
POSTMARK_TICK_S = 1.0
"""PostMark takes times with time(2), which counts seconds."""
HEADROOM = 1.25
"""How far above the best rate seen with direct I/O a rate may be and still be the device's."""

IOZONE_TESTS = frozenset(
    [
        "write",
        "rewrite",
        "read",
        "reread",
        "random_write",
        "random_read",
        "backward_read",
        "record_rewrite",
        "stride_read",
        "fwrite",
        "refwrite",
        "fread",
        "refread",
    ]
)
_BUFFERED_TESTS = frozenset({"fwrite", "refwrite", "fread", "refread"})
_ONE_OF_SEVERAL = re.compile(r"_(min|max|avg)$")
_WORKERS = re.compile(r"(?:^|,)(?:threads|processes)=([0-9]{1,9})")


def iozone_test(test: str) -> str:
    """IOzone's own name of a test, of whatever load or child: ``write_min@threads=4`` is write.

    Empty for any other tool's.
    """
    name = _ONE_OF_SEVERAL.sub("", test.partition("@")[0].removesuffix("_parent"))
    return name if name in IOZONE_TESTS else ""


def seconds(test: str, unit: str, records: Numbers, files: Numbers, values: Numbers) -> Numbers:
    """How long each cell of an IOzone test took; NaN where that cannot be known.

    Every one of the thirteen tests moves as many bytes as its file has: the random, backward and
    strided ones make file size / record size accesses, and record rewrite writes one record that
    often. So a cell took file size / rate; in ops/s, (file size / record size) / rate; in µs an
    operation, (file size / record size) times that. Several processes move a file each and are
    timed together: with n of them it is n times the file. The smallest, largest and mean rate of
    one process are of one file. Source: iozone(1), iozone.c; -n and -g give the file size.
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
    """Cells that took fewer than LEAST_TICKS ticks: their value is one of a few, 1% or more apart.

    Source: with k ticks counted, the true time is within one tick, so the relative error is up to
    1/k. Limit: what a tool spends outside its file is in its time too, and makes no tick longer.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(took_s < LEAST_TICKS * tick_s, dtype=np.bool_)


def rates_kb_s(unit: str, records: Numbers, values: Numbers) -> Numbers:
    """The rate of data of each value, KB/s; NaN where the unit and the sizes do not say it.

    Operations count as one record each. Values in µs are of one process.
    """
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
    """Rates that the device cannot have delivered, KB/s.

    ``limit_kb_s`` is what somebody stated of the hardware, or ``HEADROOM`` times the best rate
    that was ever seen with direct I/O on the same LUN: read-ahead and write-behind keep more
    requests in flight than the one of direct I/O, so that a buffered rate may honestly be a little
    higher. Limit: a rate below it can still be memory's.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(rates > limit_kb_s, dtype=np.bool_)


def is_buffered(test: str, is_direct: bool) -> bool:
    """Whether a test went through the page cache although its run asked for direct I/O.

    IOzone's -I opens files with O_DIRECT, which stdio's fwrite and fread do not.
    """
    return is_direct and iozone_test(test) in _BUFFERED_TESTS


def requests_direct_io(modes: Collection[object]) -> bool:
    """Whether settings as tools print them ask for direct I/O: "O_DIRECT feature enabled" of
    IOzone, "direct=1" of fio, "direct IO true" of elbencho. Of several jobs every one must.
    """
    return _says(_DIRECT, modes) is True


def includes_flush(modes: Collection[object]) -> bool | None:
    """Whether settings as tools print them have fsync or its like within the times: "Include fsync
    in write timing" of IOzone, "fsync=8" and "sync=1" of fio. None where nobody knows: without
    settings, of fio's ordinary report, which names three of them and not this one, and where some
    jobs of several do alone, because of which tests it holds nobody says then.
    """
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
