"""Names of tests: IOzone's thirteen in their usual order, and how any test is written. Pure."""

import re
from fractions import Fraction
from functools import lru_cache

from fsbench_web.core.activity.costs import COSTS
from fsbench_web.core.scoring import loads

PAPER_TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
"""The six of the Unisys 2005 paper, in its order."""

IOZONE_TESTS = (
    *PAPER_TESTS,
    *("backward_read", "record_rewrite", "stride_read"),
    *("fwrite", "refwrite", "fread", "refread"),
)
CREATION_TESTS = ("mkfs", "mount")
"""How long making and mounting a file system takes, in seconds."""

WORK = "work"
"""In the place of a test: all parts of a work profile together."""
_LABELS = {
    WORK: "Work profile",
    "sequential_read": "Sequential read",
    "sequential_write": "Sequential write",
    "web_server": "Web Server",
    "file_server": "File Server",
    "oltp_8k": "8K OLTP",
    "filemark_creation": "filemark, files created per second",
    "filemark_transactions": "filemark, transactions per second",
    "multiuser_jobs": "Multiuser mix, jobs per minute",
    "multiuser_peak": "Multiuser mix, peak of jobs per minute",
    "postmark_transactions": "PostMark, transactions per second",
    "postmark_transactions_time": "PostMark, time of the transactions",
    "postmark_total_time": "PostMark, time of everything",
    "pgbench_tpc-b_sort_of_tps": "PostgreSQL, transactions like TPC-B per second",
    "pgbench_select_only_tps": "PostgreSQL, reading transactions per second",
    "pgbench_tpc-b_sort_of": "PostgreSQL, transactions like TPC-B",
    "pgbench_select_only": "PostgreSQL, reading transactions",
    "sysbench_oltp_read_write_transactions": "MariaDB, transactions per second",
    "sysbench_oltp_read_only_transactions": "MariaDB, reading transactions per second",
    "sysbench_oltp_write_only_transactions": "MariaDB, writing transactions per second",
    "sqlite_delete": "SQLite with rollback journal, transactions per second",
    "sqlite_wal": "SQLite with WAL, transactions per second",
    "maildir_operations": "Mail spool, operations per second",
    "maildir_deliver": "Mail spool, deliveries",
    "maildir_read": "Mail spool, reads",
    "maildir_delete": "Mail spool, deletions",
    "maildir_flag": "Mail spool, changes of flags",
    "image_unpack": "Container image, files unpacked per second",
    "image_unpack_real": "Container image, time to unpack",
    "mkfs": "File system creation",
    "mount": "Mounting",
    "kernel_source_space_df": "Space of the source tree (df)",
    "kernel_source_space_du": "Space of the source tree (du)",
    **{cost.test: cost.label for cost in COSTS.values()},
    "fio_disk_util": "Disk utilisation by fio",
}
# How published studies name what they timed: make_bzimage_cpu is "Make bzImage, CPU time".
_WORDS = {"io": "I/O", "bzimage": "bzImage"}
_TOOLS = {"mongo": "Mongo", "postmark": "PostMark"}
# fio's endings: its rates, and its latencies with what is told of them.
_RATES = {"bw": "throughput", "iops": "operations per second"}
_LATENCIES = {
    "clat_hist": "completion latency by its log",
    "clat": "completion latency",
    "slat": "submission latency",
    "lat": "latency",
}
_OF_FIO = re.compile(
    r"(?P<name>.+?)_(?:(?P<rate>bw|iops)"
    r"|(?P<latency>clat_hist|[cs]?lat)_(?:(?P<mean>mean|max)|p(?P<percent>[0-9]{1,3}(?:\.[0-9]+)?)))"
)
_COST_OF_FIO = re.compile(r".+_disk_util|(?:.+_)?(?:usr|sys)_cpu")
"""What fio prints of processors and disk."""
MAIN_PERCENTILES = ("50", "95", "99")
"""Those of a latency that are shown at once; all others come behind them."""
_ENDINGS = {
    " usr cpu": ", user CPU",
    " sys cpu": ", system CPU",
    " disk util": ", disk utilisation",
    " cpu": ", CPU time",
    " cpu load": ", CPU load",
    " real": ", real time",
}
_PROPER = re.compile("[A-Z][a-z]+ [A-Z]|[A-Z]+/")
_LOAD = re.compile("@[a-z]+=[0-9]+(,[a-z]+=[0-9]+)*$")
_NUMBER = re.compile(r"([0-9]+)(\.[0-9]+)?(?:([kmgt])(?:i?b)?(?![a-z0-9]))?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
_TIMES = ("_real", "_cpu", "_cpu_load")
"""Times of one piece of work, in the order of pages."""
_TIMED = re.compile(r"(.+?)(_real|_cpu|_cpu_load)")
_ORDER = {test: place for place, test in enumerate(IOZONE_TESTS)}
_LAST = {test: len(_ORDER) + 1 + place for place, test in enumerate((*COSTS, *CREATION_TESTS))}


def at_load(test: str, load: str) -> str:
    """The name under which a test at a load is scored: ``randread@threads=16``."""
    return f"{test}@{load}" if load else test


def label(test: str) -> str:
    """What people read: ``random_write@threads=8`` is "Random write at 8 threads"."""
    name, load = parts(test)
    return f"{_label_of_name(name)} at {loads.words(load)}" if load else _label_of_name(name)


def block_word(test: str, *, is_published: bool = False) -> str:
    """What its *size* is called: block, and record on the pages of a paper that used IOzone."""
    return "record" if is_published and parts(test)[0] in IOZONE_TESTS else "block"


def in_sentence(test: str) -> str:
    """The label within a sentence: "random write", and Web Server as it is."""
    text = label(test)
    is_name = text.startswith(tuple(_TOOLS.values())) or _PROPER.match(text)
    return text if is_name else f"{text[:1].lower()}{text[1:]}"


def place(test: str) -> tuple[int, str, int, str]:
    """Sort key: IOzone's order, others by name with numbers as numbers, costs, mkfs and mount."""
    name, load = parts(test)
    rank = _LAST[name] if name in _LAST else _ORDER.get(name, len(_ORDER))
    timed = _TIMED.fullmatch(name)
    work, time = (timed[1], _TIMES.index(timed[2])) if timed else (name, -1)
    # What ends sorts before what goes on: p99 before p99.9, each at all its loads.
    text = f"{work}\0{load}"
    return (rank, _NUMBER.sub(_padded, text), time, test)


def cpu_time_of(test: str) -> str:
    """The test that is the CPU time of the same work at the same load; "" of no elapsed time."""
    name, load = parts(test)
    work = name.removesuffix("_real")
    return at_load(f"{work}_cpu", load) if work and work != name else ""


def is_cost(test: str) -> bool:
    """Whether a test, at whatever load, says what work cost, and not how fast it was."""
    name = parts(test)[0]
    return name in COSTS or _COST_OF_FIO.fullmatch(name) is not None


def _padded(number: re.Match[str]) -> str:
    whole, fraction, unit = number[1], number[2] or "", number[3]
    if not unit:
        return whole.zfill(12) + fraction
    exact = Fraction(whole + fraction) * 1024 ** _POWERS[unit.lower()]
    # The unit stays behind: 4k and 4096 are two names.
    return f"{int(exact):012d}{str(float(exact % 1))[1:] if exact % 1 else ''}{unit}"


def parts(test: str) -> tuple[str, str]:
    """Name and load of a test, the inverse of ``at_load``; the load is "" where there is none."""
    name, _, load = test.rpartition("@") if _LOAD.search(test) else (test, "", "")
    return name, load


@lru_cache(maxsize=4096)  # pages with hundreds of tests ask several times of each
def latency_of(test: str) -> str:
    """The latency of fio that a test is of: "randread_clat" of its mean; "" of other tests."""
    of_fio = _OF_FIO.fullmatch(parts(test)[0])
    if of_fio is None or of_fio["rate"]:
        return ""
    return f"{of_fio['name']}_{of_fio['latency']}"


def is_mean_latency(test: str) -> bool:
    """Whether it is the mean of how long operations took (clat or lat), and not of slat."""
    of_fio = _OF_FIO.fullmatch(parts(test)[0])
    return of_fio is not None and of_fio["mean"] == "mean" and of_fio["latency"] != "slat"


def is_slowest(test: str) -> bool:
    """Whether it is the longest of all latencies: one operation, whatever the others did."""
    of_fio = _OF_FIO.fullmatch(parts(test)[0])
    return of_fio is not None and of_fio["mean"] == "max"


@lru_cache(maxsize=4096)
def further_percentile_of(test: str) -> str:
    """The latency of a test for a percentile outside of MAIN_PERCENTILES; else ""."""
    of_fio = _OF_FIO.fullmatch(parts(test)[0])
    if of_fio is None or not of_fio["percent"] or of_fio["percent"] in MAIN_PERCENTILES:
        return ""
    return f"{of_fio['name']}_{of_fio['latency']}"


@lru_cache(maxsize=4096)
def percentile_of(test: str) -> float | None:
    """Which percentile of a latency of fio's a test is, from 0 to 100; None of any other."""
    of_fio = _OF_FIO.fullmatch(parts(test)[0])
    if of_fio is None or not of_fio["percent"]:
        return None
    percent = float(of_fio["percent"])
    return percent if 0 <= percent <= 100 else None


def is_mean_of_samples(test: str) -> bool:
    """Whether the mean of interval samples is the test's: not of percentiles and extremes."""
    return percentile_of(test) is None and not is_slowest(test)


def label_of_latency(latency: str) -> str:
    """What people read of ``latency_of``: "Randread, completion latency"."""
    kind = next(kind for kind in _LATENCIES if latency.endswith(f"_{kind}"))
    name = latency.removesuffix(f"_{kind}")
    return f"{_label_of_name(name)}, {_LATENCIES[kind]}"


def _label_of_name(name: str) -> str:
    if name in _LABELS:
        return _LABELS[name]
    of_fio = _OF_FIO.fullmatch(name)
    if of_fio is None:
        return _in_words(name)
    if of_fio["rate"]:
        rate = _RATES[of_fio["rate"]]
    elif of_fio["mean"]:
        statistic = {"mean": "mean", "max": "maximum"}[of_fio["mean"]]
        rate = f"{statistic} {_LATENCIES[of_fio['latency']]}"
    else:
        rate = f"{_ordinal(of_fio['percent'])} percentile of {_LATENCIES[of_fio['latency']]}"
    return f"{_label_of_name(of_fio['name'])}, {rate}"


def _ordinal(number: str) -> str:
    endings = {"1": "st", "2": "nd", "3": "rd"}
    is_tenth = number[-2:] in ("11", "12", "13")
    return f"{number}{'th' if is_tenth else endings.get(number[-1], 'th')}"


def _in_words(name: str) -> str:
    tool, _, rest = name.partition("_")
    if tool in _TOOLS and rest:
        inside = _in_words(rest)
        return f"{_TOOLS[tool]}, {inside[:1].lower()}{inside[1:]}"
    text = name.replace("_", " ")
    text = " ".join(_WORDS.get(word, word) for word in text.split(" "))
    for ending, words in _ENDINGS.items():
        text = text.removesuffix(ending) + words if text.endswith(ending) else text
    return text[:1].upper() + text[1:]


def slug(test: str) -> str:
    """The test's name as an element id: letters, digits and "-" alone."""
    return re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-") or "test"
