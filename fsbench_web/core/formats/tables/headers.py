"""What a column's header says: which field it is, or what was measured, in which unit. Pure.

The words are those that people write, in English and German. Unsure columns are asked about.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from fsbench_web.core.formats.tables.cells import known_test, test_of, unit_of
from fsbench_web.core.requirements import FILESYSTEMS

_NAMES = {
    "test": ("test", "benchmark", "operation", "rw", "readwrite"),
    "record_size_kb": (
        *("record_size_kb", "record_kb", "record_size", "reclen", "record", "block_size", "bs"),
        *("block_size_kb", "record_length", "blocksize", "blockgröße", "blockgroesse"),
    ),
    "file_size_kb": (
        *("file_size_kb", "file_kb", "file_size", "size", "kb", "filesize"),
        *("dateigröße", "dateigroesse"),
    ),
    "value": ("value", "score", "result", "wert"),
    "unit": ("unit", "units", "einheit"),
    "filesystem": ("filesystem", "file_system", "fs", "fstype", "fs_type", "dateisystem"),
    "configuration": ("configuration", "config", "label"),
    "hardware": ("hardware",),
    "kernel": ("kernel", "kernel_version", "kernel_release", "linux_kernel", "uname_r"),
    "repeat": (
        *("repeat", "run", "iteration", "repetition", "iter", "rep", "wiederholung"),
        *("trial", "run_no", "run_nr", "run_number", "durchlauf"),
    ),
    "date": (
        *("date", "datum", "datetime", "date_time", "timestamp", "measured", "measured_at"),
        *("measured_on", "run_date", "test_date", "day"),
    ),
    "block": ("block",),
    "threads": ("threads", "thread", "num_threads", "nthreads", "numthreads"),
    "iodepth": ("iodepth", "io_depth", "queue_depth", "queuedepth", "qd"),
    "jobs": ("jobs", "numjobs", "num_jobs", "njobs", "processes"),
    "tasks": ("tasks", "num_tasks", "ntasks", "ranks"),
    "clients": ("clients", "num_clients", "nclients"),
}
_FIELD_OF = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
_INSTEAD = {
    **dict.fromkeys(("workload", "pattern", "access", "access_pattern", "io_pattern"), "test"),
    **dict.fromkeys(("job", "jobname", "job_name", "test_name", "testname"), "test"),
    **dict.fromkeys(("mean", "average", "avg", "mittelwert"), "value"),
}
"""Words that mean a field only where no column is called by its own name."""
# bs=4096 of a command line are bytes, a record of 4 is in KB: these names leave it open.
OPEN_SIZES = (
    *("bs", "block_size", "blocksize", "record", "record_size", "record_length"),
    *("blockgröße", "blockgroesse"),
)

_IN_BRACKETS = re.compile(r"(.*\S)\s*[(\[]([^()\[\]]{1,20})[)\]]")
_BYTES = r"(?P<prefix>[kKmMgGtT])(?P<binary>i?)(?P<byte>[bB])(?:/s(?:ec)?|_s|_per_s|ytes/s|ps)"
_AT_THE_END = re.compile(
    rf"(?:(?P<name>.*?)(?<![\s,_])(?:[\s,_]++in)?[\s,_]++)?(?P<unit>{_BYTES}|[kKM]?(?:iops|IOPS)|[kKM]?ops/s|[uµμnm]s)"
)
"""``BW MiB/s``, ``lat_us``, ``throughput_mb_s``, and ``MB/s`` alone."""
_BYTES_A_SECOND = re.compile(_BYTES)
_COUNTED = re.compile(r"([a-zA-Z][a-zA-Z ]{1,30})/\s?s(?:ec)?")
"""``Transactions/s``, ``reads/sec``: what is counted is the test."""
_OPS = re.compile("([km]?)iops", re.IGNORECASE)
_OPS_PREFIXES = {"": "", "k": "k", "m": "M"}
_NO_UNIT = re.compile(
    r"mean|average|avg|median|min|max|std\.?(dev)?|stddev|sd|total|all|sum|n|[pq]?d?=?[0-9.]+(th|%)?"
    r"|(lower|higher|less|more) is better",
    re.IGNORECASE,
)
"""Words in brackets that are no unit: a statistic, a queue depth."""
PERCENT = "%"

# File systems that fsbench does not make, and that results come from.
_OTHER_FILESYSTEMS = frozenset(
    (
        *("f2fs", "ntfs", "vfat", "fat32", "ufs", "ufs2", "hfs", "hfsplus", "reiserfs", "reiser4"),
        *("apfs", "gfs2", "ocfs2", "lustre", "nfs", "nfs3", "nfs4", "cifs", "smb", "overlayfs"),
        *("ceph", "cephfs", "glusterfs", "tmpfs", "vxfs", "jfs2", "gpfs", "beegfs"),
    )
)
_REPEAT_WORD = "(?:run|repeat|rep|repetition|iter|iteration|trial|pass|durchlauf)s?[ _#-]{0,3}|#"
_REPEAT = re.compile(
    rf"(?:{_REPEAT_WORD})([0-9]{{1,6}})"
    r"|([0-9]{1,6})(?:st|nd|rd|th|\.)? (?:run|repeat|repetition|iteration|trial|pass)"
)
_REPEAT_AT_THE_END = re.compile(rf"(?:\s|[_-])(?:{_REPEAT_WORD})([0-9]{{1,6}})$")
_SETUPS = frozenset(("before", "after", "old", "new", "baseline"))
"""Columns of repeats and of set-ups: ``run1``, ``Run #2``, ``before``."""
_SETTINGS = frozenset(
    (
        *("runtime", "duration", "elapsed", "time", "walltime", "interval", "timeout", "uptime"),
        *("ramp", "ramp_time", "total_time", "wall_time", "run_time", "elapsed_time", "dauer"),
        *("laufzeit", "zeit", "delay", "age"),
    )
)
"""What is in seconds and may be a setting, or of another test."""

_RATES = {"bw", "bandwidth", "throughput", "durchsatz", "rate", "speed", "datenrate"}
_LATENCIES = {"lat": "lat", "latency": "lat", "latenz": "lat", "response": "lat"}
_LATENCIES |= {"clat": "clat", "slat": "slat"}
_WHOLE = {"lat": "latency", "clat": "completion_latency", "slat": "submission_latency"}
"""The ending of a latency that may be a mean."""
WHOLE_ENDINGS = {"_bw", "_iops", *(f"_{kind}" for kind in _WHOLE.values())}
"""What need not be said of a test with one number: its unit tells it."""
_MEANS = {"mean", "avg", "average", "mittel", "mittlere"}
_PASSED_OVER = {"time", "completion", "percentile", "perzentil", "pct", "quantile", "total", "of"}
_HALF_UNITS = {"kb", "mb", "gb", "kib", "mib", "gib"}
"""``bw_kb``: nothing says the time."""
_DIRECTIONS = {"read": "read", "write": "write", "trim": "trim", "rd": "read", "wr": "write"}
_PERCENTILE = re.compile(r"p?([0-9]{1,2}(?:\.[0-9]{1,4})?)(?:th|%|\.)?")
_NINES = re.compile("p(999+)")
_TIMES = {"ns", "µs", "ms", "s", "min"}
GROUP_END = " \u203a "
"""Between the two words of a header in two rows: what stands above several columns, and below."""
_MOST_WORDS = 4
"""In the name of a known test, however it is spelled."""
# A table is read several times, and thousands of files have one header.
_remembered = lru_cache(maxsize=2048)


@dataclass(frozen=True)
class Measure:
    """The ending of a test's name that a column has (``_iops``), and its unit or ""."""

    ending: str
    unit: str


def field_word(word: str) -> str:
    """A word as fields are called: ``Block Size`` is ``block_size``, ``Run #`` is ``run``."""
    return word.strip(" #.\t").lower().replace(" ", "_").replace("-", "_")


def is_filesystem(word: str) -> bool:
    return word in FILESYSTEMS or word in _OTHER_FILESYSTEMS


def is_contender(word: str) -> bool:
    """Whether a header names a file system, a set-up or a run: ``ext4 (KB/s)``, ``run 2``."""
    name = split(word)[0].strip().lower()
    words = re.split(r"[\W_]", name)
    return any(map(is_filesystem, words)) or name in _SETUPS or _REPEAT.fullmatch(name) is not None


@dataclass(frozen=True)
class OfContender:
    """The fields that a header says, and a test or the ending (``_iops``) of the row's test."""

    said: tuple[tuple[str, str], ...]
    test: str
    unit: str


@_remembered
def contender_of(word: str) -> OfContender | None:
    """``ext4 (MB/s)``, ``XFS noatime read (MB/s)``, ``run 2``, ``before IOPS``; None of others."""
    group, is_merged, own_word = word.partition(GROUP_END)
    if is_merged:
        return _contender_in_two_rows(group, own_word)
    name, unit = split(word)
    if unit == PERCENT or not is_contender(word):
        return None
    said, text = _repeat_of(name.strip())
    words = [part for part in re.split(r"[\s_/,;:|-]+", text) if part]
    place = next((n for n, part in enumerate(words) if _begins_label(part.lower())), None)
    if place is None:
        return OfContender(tuple(said.items()), "_", unit)
    rest = words[place + 1 :]
    count, measured = _measured_at_the_end(rest, unit)
    if not rest and (before := _measured(words[:place], unit)) is not None:
        words, place, measured = words[place:], 0, before
    label = words[: place + 1 + len(rest) - count]
    if is_filesystem(words[place].lower()):
        said["filesystem"] = words[place].lower()
    if len(label) > 1 or "filesystem" not in said:
        said["configuration"] = "_".join(label).lower()
    test, unit = measured or ("_", unit)
    return OfContender(tuple(sorted(said.items())), test, unit)


def _contender_in_two_rows(group: str, own_word: str) -> OfContender | None:
    """The contender that a header in two rows names above or below, or with both."""
    of_group, of_own = contender_of(group), contender_of(own_word)
    if of_group is None:
        of_group, of_own, own_word = of_own, None, group
    if of_group is None:
        return None
    if of_own is not None:
        said = tuple(sorted({*of_group.said, *of_own.said}))
        return OfContender(said, of_own.test, of_own.unit)
    name, unit = split(own_word)
    measure = None if name else measure_of(own_word)
    if measure is not None:
        return OfContender(of_group.said, measure.ending, measure.unit)
    test, unit = _measured(name.split(), unit) or (test_of(name) or "", unit)
    return OfContender(of_group.said, test, unit or of_group.unit) if test else None


def in_two_rows(above: str, below: str) -> str:
    """One header of what stands above several columns and of what stands below it."""
    name, unit = split(below)
    if is_contender(above) or is_contender(below):
        return f"{above}{GROUP_END}{below}"
    return f"{above} lat ({unit})" if not name and unit in _TIMES else f"{above} {below}"


def _repeat_of(name: str) -> tuple[dict[str, str], str]:
    if match := _REPEAT.fullmatch(name.lower()):
        return {"repeat": match[1] or match[2]}, ""
    if match := _REPEAT_AT_THE_END.search(name.lower()):
        return {"repeat": match[1]}, name[: match.start()]
    return {}, name


def _begins_label(word: str) -> bool:
    return is_filesystem(word) or word in _SETUPS


def _measured_at_the_end(words: list[str], unit: str) -> tuple[int, tuple[str, str] | None]:
    """How many of the last words say what was measured, and what they say."""
    for count in range(len(words), 0, -1):
        measured = _measured(words[-count:], unit)
        if measured is not None:
            return count, measured
    return 0, (_measured([], unit) if unit else None)


def _measured(words: list[str], unit: str) -> tuple[str, str] | None:
    """(test or ending, unit) that words and a unit say; None where they say none."""
    text = " ".join(words)
    named = f"{text} ({unit})" if unit else text
    if text and known_test(text):
        return known_test(text), unit
    measure = measure_of(named)
    return (measure.ending, measure.unit) if measure is not None else None


@_remembered
def split(word: str) -> tuple[str, str]:
    """A header's name, and the unit in brackets or at its end, or ""."""
    word = word.strip()
    if (match := _IN_BRACKETS.fullmatch(word)) is not None:
        name, unit = match[1], match[2].strip()
        if unit in ("k", "K", "thousands") and field_word(name) == "iops":
            return name, "kIOPS"
        if _NO_UNIT.fullmatch(unit):
            return word.replace("[", "(").replace("(", " ").rstrip(")] "), ""
        return name, _spelled_unit(unit)
    if word.endswith("%") and not _PERCENTILE.fullmatch(word.split()[-1]):
        return word[:-1].strip(), PERCENT
    if (match := _AT_THE_END.fullmatch(word)) is not None:
        return match["name"] or "", _spelled_unit(match["unit"])
    return word, ""


def _spelled_unit(unit: str) -> str:
    """A unit with the usual letters: ``mb_s`` is MB/s, ``Mb/s`` stays, ``mbps`` is open ("")."""
    if (match := _BYTES_A_SECOND.fullmatch(unit)) is not None:
        if match["byte"] == "b" and unit.endswith("ps"):
            return ""
        if match["byte"] == "B" or match["prefix"].islower():
            return f"{match['prefix'].upper()}{match['binary']}B/s"
        return unit
    if (ops := _OPS.fullmatch(unit)) is not None:
        return f"{_OPS_PREFIXES[ops[1].lower()]}IOPS"
    return unit_of(unit)


@_remembered
def test_named(word: str) -> tuple[str, str] | None:
    """(test, unit) of a column for a test; None of one that names none.

    ``Seq Read (MB/s)`` is ("read", "MB/s"), ``randread IOPS`` ("random_read_iops", "IOPS"),
    ``rand write p99 (us)`` ("random_write_lat_p99", "µs"); ``Transactions/s`` is counted,
    ``written MiB/s`` a rate of its own, and ``copy (s)`` a time.
    """
    name, unit = split(word)
    if unit == PERCENT or is_contender(word):
        return None
    if test := known_test(name):
        return (f"{test}_iops" if _OPS.fullmatch(unit) else test), unit
    parts = name.replace("_", " ").split()
    for count in range(min(len(parts) - 1, _MOST_WORDS), 0, -1):
        test = known_test(" ".join(parts[:count]))
        measure = measure_of(
            f"{' '.join(parts[count:])} ({unit})" if unit else " ".join(parts[count:])
        )
        if test and measure is not None:
            return (test if measure.ending == "_bw" else f"{test}{measure.ending}"), measure.unit
    if measure_of(word) is not None:
        return None
    if (match := _COUNTED.fullmatch(word.strip())) is not None and not unit:
        rate_test = test_of(match[1])
        return (rate_test, f"{field_word(match[1])}/s") if rate_test else None
    is_time = unit in _TIMES and field_word(name) not in _SETTINGS and not field_of(name)
    # A sign of equality stands in sentences of tools, and in no header.
    timed_test = test_of(name) if (unit.endswith("B/s") or is_time) and "=" not in name else None
    return (timed_test, unit) if timed_test else None


@_remembered
def field_of(word: str) -> str:
    """The field that a header names by its own name; "" where it names none."""
    return _FIELD_OF.get(field_word(split_brackets(word)), "") or _FIELD_OF.get(
        field_word(word), ""
    )


def fallback_field(word: str) -> str:
    """The field that a header may mean where no other column is called so."""
    return _INSTEAD.get(field_word(split_brackets(word)), "")


def split_brackets(word: str) -> str:
    match = _IN_BRACKETS.fullmatch(word.strip())
    return match[1] if match else word


@_remembered
def measure_of(word: str) -> Measure | None:
    """What a column holds of the test of its row; None: anything else, such as a deviation."""
    name, unit = split(word)
    if unit == PERCENT:
        return None
    words = [word for word in re.split(r"[\s_,()-]+", name.strip().lower()) if word]
    side = next((_DIRECTIONS[word] for word in words if word in _DIRECTIONS), "")
    rest = [word for word in words if word not in _DIRECTIONS]
    start = f"_{side}" if side else ""
    if not rest:
        return _of_unit(start, unit)
    parts = [word for word in rest if word not in _MEANS | _PASSED_OVER | _HALF_UNITS]
    if len(parts) == 1 and parts[0] in _RATES:
        return Measure(f"{start}_bw", unit)
    if len(parts) == 1 and _OPS.fullmatch(parts[0]):
        return Measure(f"{start}_iops", unit or _spelled_unit(parts[0]))
    return _latency(start, rest, unit)


def _of_unit(start: str, unit: str) -> Measure | None:
    """Of a column with a unit for a header: ``MB/s``, ``read MiB/s``, ``kIOPS``."""
    if _OPS.fullmatch(unit) or unit.lower().endswith("ops/s"):
        return Measure(f"{start}_iops", unit)
    return Measure(f"{start}_bw", unit) if unit.endswith("/s") else None


def _latency(start: str, words: list[str], unit: str) -> Measure | None:
    """Of a latency: its mean, its maximum, a percentile."""
    kinds = [_LATENCIES[word] for word in words if word in _LATENCIES]
    if unit and unit not in _TIMES:
        return None
    kind = kinds[0] if kinds else "lat"
    rest = [word for word in words if word not in _LATENCIES and word not in _PASSED_OVER]
    if not rest:
        return Measure(f"{start}_{_WHOLE[kind]}", unit) if kinds else None
    if len(rest) > 1:
        return None
    if kinds and rest[0] in _MEANS:
        return Measure(f"{start}_{kind}_mean", unit)
    if kinds and rest[0] in ("max", "maximum"):
        return Measure(f"{start}_{kind}_max", unit)
    percent = percentile(rest[0], is_named=bool(kinds) or "percentile" in words)
    return Measure(f"{start}_{kind}_p{percent}", unit) if percent else None


def percentile(word: str, *, is_named: bool) -> str:
    """``p99``, ``99th``, ``p999`` as 99.9; "" of others. Bare numbers need ``is_named``."""
    if word == "median":
        return "50"
    if (nines := _NINES.fullmatch(word)) is not None:
        return f"99.{nines[1][2:]}"
    match = _PERCENTILE.fullmatch(word)
    if match is None or (not is_named and word == match[1]):
        return ""
    return match[1]
