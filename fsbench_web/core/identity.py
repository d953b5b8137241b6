"""The identity of a measurement: what was done, whatever a tool or a person called it. Pure.

Measurements with one identity share a table. A job's name, runtime and file size are labels.
``random_8k_read`` at ``iodepth=8`` is direct I/O by libaio in one job; what differs is named:
``random_8k_buffered_psync_read``. Source of options: fio(1), version 3.33.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

RANDOM, SEQUENTIAL = "random", "sequential"
READ, WRITE, TRIM, MIX = "read", "write", "trim", "rw"
USUAL_ENGINE = "libaio"
ONE_AT_A_TIME = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})
"""fio's engines with one request at a time, whatever ``iodepth`` says."""
_DEFAULT_ENGINE = "psync"
_DEFAULT_BLOCK = "4k"
CACHE_UNKNOWN = "cache-unknown"
"""In a name: nothing says whether I/O was direct, or when data were flushed."""
_LONGEST = 90
"""Of a stem: endings such as _write_clat_p99.99 leave it within what the database keeps."""


@dataclass(frozen=True)
class Identity:
    """What was done. None, and "" of ``engine``: unknown. ``sync`` is unknown where ``direct`` is.

    ``read_percent``: of a mix. ``sync``: when data were flushed (``fsync-8``), "" for never.
    ``files``: of each job. ``other``: further settings that change the work, sorted.
    """

    tool: str
    access: str
    direction: str
    block_bytes: int | None = None
    depth: int | None = None
    jobs: int | None = None
    direct: bool | None = None
    engine: str = ""
    sync: str = ""
    read_percent: int | None = None
    files: int | None = None
    other: tuple[str, ...] = ()

    @property
    def operation(self) -> str:
        """As IOzone calls it: ``random_read``, ``write``; "" of mixes and trims."""
        if self.direction not in (READ, WRITE):
            return ""
        return f"random_{self.direction}" if self.access == RANDOM else self.direction

    @property
    def in_flight(self) -> int | None:
        """Requests of a job at once: 1 of engines that wait for each."""
        return 1 if self.engine in ONE_AT_A_TIME else self.depth

    @property
    def stem(self) -> str:
        """fio's name without the direction, ``random_8k``, of one workload; "" if unknown."""
        if self.block_bytes is None or not self.engine:
            return ""
        words = [self.access, size_text(self.block_bytes)]
        words += [f"{MIX}{self.read_percent}"] if self.direction == MIX else []
        words += {True: [], False: ["buffered"], None: [CACHE_UNKNOWN]}[self.direct]
        words += [] if self.engine == USUAL_ENGINE else [_word(self.engine)]
        words += [self.sync] if self.sync else []
        words += [f"nrfiles-{self.files}"] if (self.files or 1) > 1 else []
        known = "_".join(words)
        stem = "_".join([known, *self.other])
        if len(stem) <= _LONGEST:
            return stem
        digest = hashlib.sha256("_".join(self.other).encode()).hexdigest()[:8]
        return f"{known}_set-{digest}"

    @property
    def name(self) -> str:
        """The stem with the direction, ``random_8k_read``; of a mix the stem alone."""
        return self.stem if self.direction == MIX else f"{self.stem}_{self.direction}"

    @property
    def load(self) -> str:
        """What is in flight as a load: ``iodepth=8,jobs=4``. One job is left out."""
        counts = [] if self.depth is None else [f"iodepth={self.depth}"]
        return ",".join([*counts, *([f"jobs={self.jobs}"] if (self.jobs or 1) > 1 else [])])

    @property
    def way(self) -> str:
        """How it was measured, whatever was read or written: tool, engine, direct or buffered."""
        kind = {True: "direct", False: "buffered", None: ""}[self.direct]
        return " ".join(word for word in (self.tool, self.engine, kind) if word)


# fio: labels and conditions, which are no part of what was done.
_NO_IDENTITY = re.compile(
    # Names, places, seeds.
    r"name|description|directory|filename|filename_format|opendir|hostname|port|client|"
    r"randseed|randrepeat|allrandrepeat|"
    # What is printed and logged.
    r"output.*|eta.*|status.interval|.*_log|log_.*|per_job_logs|per_job_.*|group_reporting|"
    r"minimal|append.terse|terse.version|max.jobs|section|debug|unified_rw_reporting|"
    r".*_percentiles|percentile_list|significant_figures|disable_.*|gtod_.*|clocksource|"
    r"bwavgtime|iopsavgtime|kb_base|unit_base|"
    # How much, for how long, where, and when it begins and ends.
    r"runtime|timeout|ramp_time|time_based|size|filesize|io_size|io_limit|fill_device|fill_fs|"
    r"offset|loops|number_ios|startdelay|stonewall|wait_for.*|new_group|exitall.*|"
    r"steadystate.*|ss|ss_.*|exec_prerun|exec_postrun|cpus_allowed.*|cpumask|numa_.*|thread|"
    # What is made ready before.
    r"fallocate|create_.*|unlink.*|openfiles|allow_.*|pre_read|bs_unaligned"
)
_FLAGS = frozenset(
    {
        *("direct", "buffered", "norandommap", "refill_buffers", "zero_buffers", "overwrite"),
        *("end_fsync", "fsync_on_close", "invalidate", "scramble_buffers", "time_based", "thread"),
        *("group_reporting", "stonewall", "new_group", "sync", "do_verify", "softrandommap"),
        *("randrepeat", "allrandrepeat", "minimal", "exitall", "unlink"),
    }
)
"""They may stand without a value, which means yes."""
_DEFAULTS = {
    **{"invalidate": "1", "scramble_buffers": "1", "file_service_type": "roundrobin"},
    **{"random_distribution": "random", "iodepth_batch": "1", "nrfiles": "1"},
}
_CORE = {
    *("rw", "readwrite", "bs", "blocksize", "direct", "buffered", "ioengine", "iodepth"),
    *("numjobs", "rwmixread", "rwmixwrite", "nrfiles"),
}
_SYNCS = ("fsync", "fdatasync", "sync", "end_fsync", "fsync_on_close")
_RW = re.compile(r"(rand)?(read|write|trim|rw|readwrite)")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_SIZE = re.compile(r"([1-9][0-9]{0,14})([kmgt]?)i?b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_OFF = ("0", "none", "false")


def is_label(option: str) -> bool:
    """Whether an option of fio is no part of what was done: a name, a place, a condition."""
    return _NO_IDENTITY.fullmatch(option) is not None


def is_flag(option: str) -> bool:
    """Whether an option of fio may stand without a value."""
    return option in _FLAGS


def of_fio(options: Mapping[str, str]) -> Identity | None:
    """The identity of a fio job by all of its options, [global] among them; None if ambiguous."""
    pattern = _RW.fullmatch(options.get("rw") or options.get("readwrite") or "")
    if pattern is None or options.keys() & {"bsrange", "blocksize_range", "bssplit"}:
        return None
    direction = MIX if pattern[2] in ("rw", "readwrite") else pattern[2]
    texts = (options.get("bs") or options.get("blocksize") or _DEFAULT_BLOCK).split(",")
    sizes = [size_bytes(text) for text in (*texts, *[texts[-1]] * (3 - len(texts)))]
    places = {READ: sizes[:1], WRITE: sizes[1:2], TRIM: sizes[2:3], MIX: sizes[:2]}
    depth, jobs = options.get("iodepth") or "1", options.get("numjobs") or "1"
    files = options.get("nrfiles") or "1"
    if len(set(places[direction])) > 1 or None in places[direction] or "kb_base" in options:
        return None
    if not all(_COUNT.fullmatch(text) for text in (depth, jobs, files)):
        return None
    share = _read_percent(options) if direction == MIX else 0
    if share is None:
        return None
    return Identity(
        tool="fio",
        access=RANDOM if pattern[1] else SEQUENTIAL,
        direction=direction,
        block_bytes=places[direction][0],
        depth=int(depth),
        jobs=int(jobs),
        direct=_is_direct(options),
        engine=(options.get("ioengine") or _DEFAULT_ENGINE).lower(),
        sync="_".join(
            _setting(option, options[option]) for option in _SYNCS if _is_on(options, option)
        ),
        read_percent=share if direction == MIX else None,
        files=int(files),
        other=tuple(
            sorted(
                _setting(option, value)
                for option, value in options.items()
                if option not in _CORE
                and option not in _SYNCS
                and not is_label(option)
                and _is_on(options, option)
            )
        ),
    )


def size_bytes(text: str) -> int | None:
    """fio's ``4k`` in bytes (kb_base 1024); None for several, and for what is none."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * 1024 ** _POWERS[match[2].lower()] if match else None


def size_text(size: int) -> str:
    """``8k``, ``1m``, ``512b``: the inverse of ``size_bytes`` as names have it."""
    if size % 1024:
        return f"{size}b"
    return f"{size // 1024}k" if size % (1024 * 1024) else f"{size // (1024 * 1024)}m"


def _is_direct(options: Mapping[str, str]) -> bool:
    if "direct" in options:
        return options["direct"] not in _OFF
    return options.get("buffered") == "0"


def _read_percent(options: Mapping[str, str]) -> int | None:
    reads, writes = options.get("rwmixread"), options.get("rwmixwrite")
    text = reads or writes or "50"
    if not re.fullmatch("[0-9]{1,3}", text) or int(text) > 100:
        return None
    return int(text) if reads or not writes else 100 - int(text)


def _is_on(options: Mapping[str, str], option: str) -> bool:
    """Whether an option is set to something else than fio's default."""
    if option not in options:
        return False
    value = options[option] or "1"
    return value != _DEFAULTS[option] if option in _DEFAULTS else value not in _OFF


def _setting(option: str, value: str) -> str:
    # "sync" is an engine, too.
    plain = option in _FLAGS and option != "sync" and value in ("", "1")
    return _word(option if plain else f"{option}-{value or 1}")


def _word(text: str) -> str:
    """A part of a name, which "_" parts from the next."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


_NAME = re.compile(
    r"(random|sequential)_([1-9][0-9]{0,14})([bkm])((?:_[a-z0-9.-]{1,60}){0,20}?)_(read|write|trim|mixed)"
    r"(?:_([a-z][a-z0-9_.]*))?"
)
_ENGINES = re.compile(
    r"(?:p?v?sync|pvsync2|posixaio|io-uring|io-uring-cmd|mmap|splice|sg|windowsaio|solarisaio|"
    r"rados|rbd|http|libpmem|dev-dax|null|net|e4defrag|nfs|xnvme|libblkio|external.*)"
)
_SYNC_WORD = re.compile(r"(?:fsync|fdatasync|sync)-[a-z0-9]+|end-fsync|fsync-on-close")


def of_fio_name(test: str, load: str = "") -> tuple[Identity, str] | None:
    """The identity that one of fio's names says, and its metric: ``iops``. None of other names."""
    match = _NAME.fullmatch(test)
    if match is None:
        return None
    access, number, unit, rest, direction, metric = match.groups()
    block = int(number) * 1024 ** "bkm".index(unit)
    found = Identity("fio", access, direction, block, direct=True, engine=USUAL_ENGINE, files=1)
    syncs: list[str] = []
    other: list[str] = []
    for word in rest.split("_")[1:]:
        if share := re.fullmatch(f"{MIX}([0-9]{{1,3}})", word):
            found = replace(found, direction=MIX, read_percent=int(share[1]))
        elif word == "buffered":
            found = replace(found, direct=False)
        elif word == CACHE_UNKNOWN:
            found = replace(found, direct=None)
        elif _ENGINES.fullmatch(word) and found.engine == USUAL_ENGINE and not syncs and not other:
            found = replace(found, engine=word.replace("-", "_"))
        elif _SYNC_WORD.fullmatch(word):
            syncs.append(word)
        elif files := re.fullmatch("nrfiles-([1-9][0-9]{0,8})", word):
            found = replace(found, files=int(files[1]))
        else:
            other.append(word)
    depth, jobs = in_flight(load)
    sync = "_".join(syncs)
    return replace(found, depth=depth, jobs=jobs, sync=sync, other=tuple(other)), metric or ""


_DEPTHS = ("iodepth", "qd", "outstanding")
_JOBS = ("jobs", "threads", "tasks", "processes", "hosts", "clients")


def in_flight(load: str) -> tuple[int | None, int | None]:
    """(requests of each job, jobs) by a load, 1 by default; (None, None) for other loads."""
    depth, jobs = 1, 1
    for part in load.split(",") if load else ():
        name, _, text = part.partition("=")
        if not _COUNT.fullmatch(text) or name not in (*_DEPTHS, *_JOBS):
            return None, None
        if name in _DEPTHS:
            depth *= int(text)
        else:
            jobs *= int(text)
    return depth, jobs


# The identity of stored numbers, by test, load and the settings that a tool printed. Only rates of
# reads or writes alone have one; ``block_bytes`` is None where each number has its own record size.
SMALL_FILE_KB = 1024
"""Files up to so much are many small ones, which one large file does not stand for."""
# Beside these fio was asked for other work than its pattern says: a limited rate, zones.
_HARMLESS = re.compile(
    r"(?:norandommap|softrandommap|random-generator-|refill-buffers|zero-buffers|"
    r"buffer-(?:compress|pattern)|dedupe|hipri|fixedbufs|registerfiles|nonvectored)"
)
_IOZONE = re.compile(r"(random_)?(read|write)")
"""With a load of jobs: its throughput mode. Each number has its own record size."""
_SYSBENCH = re.compile(
    r"sysbench_(rnd|seq)(rd|wr)_(?:throughput|requests|"
    r"(?:read|written)_throughput|reads|writes)"
)
_IOR = re.compile(r"ior_(read|write)(?:_mean)?(?:_ops)?")
_ELBENCHO = re.compile(r"elbencho_(random_)?(read|write)_(?:throughput|iops)_last")
_DISKSPD = re.compile(r"diskspd_(read|write)_(?:throughput|iops)")
_BLOCKS = re.compile(r"(?:block[ _]size|xfersize):?\s+([0-9.]+\s?[kmgt]?i?b?(?:ytes)?)\s*", re.I)
_IS_DIRECT = re.compile(
    r"extra file open flags: .*direct.*|-B|--posix\.odirect|direct io (?:1|true)|"
    r"software cache disabled|.*O_DIRECT.*",
    re.I,
)
_FILE_SIZES = re.compile(
    r"(?:.+: )?size=(\S+)|size: ([0-9]+)B|(?:file size:? )([0-9]+ ?[kmgt]?i?b?)|"
    r"([0-9.]+ ?[kmgt]?i?b?) total file size",
    re.I,
)


def settings_of(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """A workload's settings: those that its tool printed, and the size of our own file."""
    modes = parameters.get("modes")
    own = [f"size={parameters['file_mb']}m"] if parameters.get("file_mb") else []
    return (*own, *(map(str, modes) if isinstance(modes, list) else ()))


def is_candidate(test: str, load: str = "") -> bool:
    """Whether a name can have an identity besides the operations that profiles name."""
    if load.partition("=")[0] in _JOBS and _IOZONE.fullmatch(test):
        return True
    found = of_fio_name(test)
    if found is not None:
        return found[1] in ("bw", "iops")
    return any(name.fullmatch(test) for name in (_SYSBENCH, _IOR, _ELBENCHO, _DISKSPD))


@lru_cache(maxsize=4096)
def of_stored(test: str, load: str, settings: tuple[str, ...] = ()) -> Identity | None:
    """What was done; None where it is not known, or no plain reading or writing."""
    if not is_candidate(test, load):
        return None
    of_fio = of_fio_name(test, load)
    if of_fio is not None:
        return _plain(of_fio[0])
    depth, jobs = in_flight(load)
    is_direct = any(_IS_DIRECT.fullmatch(setting) for setting in settings)
    if (iozone := _IOZONE.fullmatch(test)) is not None:
        access = RANDOM if iozone[1] else SEQUENTIAL
        tool, direction = "iozone", iozone[2]
    elif (sysbench := _SYSBENCH.fullmatch(test)) is not None:
        access = RANDOM if sysbench[1] == "rnd" else SEQUENTIAL
        tool, direction = "sysbench", READ if sysbench[2] == "rd" else WRITE
    elif (ior := _IOR.fullmatch(test)) is not None:
        is_random = any(re.fullmatch("ordering in a file random.*", text) for text in settings)
        tool, access, direction = "ior", RANDOM if is_random else SEQUENTIAL, ior[1]
    elif (elbencho := _ELBENCHO.fullmatch(test)) is not None:
        tool, direction = "elbencho", elbencho[2]
        access = RANDOM if elbencho[1] else SEQUENTIAL
    else:
        tool, direction = "diskspd", test.split("_")[1]
        if f"performing {direction} test" not in settings:
            return None  # a mix
        is_random = any(text.startswith("using random") for text in settings)
        access = RANDOM if is_random else SEQUENTIAL
    return Identity(
        tool,
        access,
        direction,
        _block(settings),
        depth,
        jobs,
        direct=is_direct,
        sync=_sync(settings),
    )


def _plain(found: Identity) -> Identity | None:
    is_one_way = found.direction in (READ, WRITE) and (found.files or 1) == 1
    is_known = is_one_way and found.direct is not None
    return found if is_known and all(map(_HARMLESS.match, found.other)) else None


def _block(settings: Iterable[str]) -> int | None:
    blocks = {_bytes(match[1]) for text in settings if (match := _BLOCKS.fullmatch(text))}
    return blocks.pop() if len(blocks) == 1 else None


def _sync(settings: Sequence[str]) -> str:
    each = (re.search(r"fsync\(\) (?:each|after)|[iI]nclude fsync in", text) for text in settings)
    if any(each) or "-e" in settings:
        return "fsync"
    return "sync" if any(text.rstrip(" .") == "SYNC Mode" for text in settings) else ""


def data_kb(settings: Iterable[str]) -> int | None:
    """How large the data are that was worked on; None where nobody knows, or several are."""
    texts = [match for text in settings if (match := _FILE_SIZES.fullmatch(text))]
    sizes = {_bytes(next(filter(None, match.groups()))) for match in texts}
    size = sizes.pop() if len(sizes) == 1 else None
    return None if size is None else size // 1024


def _bytes(text: str) -> int | None:
    return size_bytes(re.sub(r"\s|ytes", "", text))


def covers(found: Identity, data: int | None, file_kb: int | None) -> bool:
    """Whether ``data`` KB stand for files of ``file_kb``: any large file does by direct I/O."""
    if file_kb is None or data == file_kb:
        return True
    is_large = file_kb > SMALL_FILE_KB and (data is None or data > SMALL_FILE_KB)
    return found.direct is True and is_large
