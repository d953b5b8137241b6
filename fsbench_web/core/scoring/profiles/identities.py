"""The identity of stored numbers, by test, load and the settings that a tool printed. Pure.

Only numbers that say how fast data moved have one: rates in bytes or in operations, of reads or
writes alone. ``block_bytes`` is None where each number has its own record size.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fsbench_web.core.identity import (
    RANDOM,
    READ,
    SEQUENTIAL,
    WRITE,
    Identity,
    in_flight,
    of_fio_name,
    size_bytes,
)

SMALL_FILE_KB = 1024
"""Files up to so much are many small ones, which one large file does not stand for."""
# Beside these fio was asked for other work than its pattern says: a limited rate, zones.
_HARMLESS = re.compile(
    r"(?:norandommap|softrandommap|random-generator-|refill-buffers|zero-buffers|"
    r"buffer-(?:compress|pattern)|dedupe|hipri|fixedbufs|registerfiles|nonvectored)"
)
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


def is_candidate(test: str) -> bool:
    """Whether a name can have an identity beside the operations that profiles name."""
    found = of_fio_name(test)
    if found is not None:
        return found[1] in ("bw", "iops")
    return any(name.fullmatch(test) for name in (_SYSBENCH, _IOR, _ELBENCHO, _DISKSPD))


@lru_cache(maxsize=4096)
def of_stored(test: str, load: str, settings: tuple[str, ...] = ()) -> Identity | None:
    """What was done; None where it is not known, or no plain reading or writing."""
    if not is_candidate(test):
        return None
    of_fio = of_fio_name(test, load)
    if of_fio is not None:
        return _plain(of_fio[0])
    depth, jobs = in_flight(load)
    is_direct = any(_IS_DIRECT.fullmatch(setting) for setting in settings)
    if (sysbench := _SYSBENCH.fullmatch(test)) is not None:
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
    is_known = found.direction in (READ, WRITE) and (found.files or 1) == 1
    return found if is_known and all(map(_HARMLESS.match, found.other)) else None


def _block(settings: Iterable[str]) -> int | None:
    blocks = {_bytes(match[1]) for text in settings if (match := _BLOCKS.fullmatch(text))}
    return blocks.pop() if len(blocks) == 1 else None


def _sync(settings: Sequence[str]) -> str:
    each = (re.search(r"fsync\(\) (?:each|after)", text) for text in settings)
    return "fsync" if any(each) or "-e" in settings else ""


def data_kb(settings: Iterable[str]) -> int | None:
    """How large the data are that was worked on; None where nobody knows, or several are."""
    texts = [match for text in settings if (match := _FILE_SIZES.fullmatch(text))]
    sizes = {_bytes(next(filter(None, match.groups()))) for match in texts}
    size = sizes.pop() if len(sizes) == 1 else None
    return None if size is None else size // 1024


def _bytes(text: str) -> int | None:
    return size_bytes(re.sub(r"\s|ytes", "", text))


def covers(found: Identity, data: int | None, file_kb: int | None) -> bool:
    """Whether a measurement of ``data`` KB stands for files of ``file_kb``.

    By direct I/O the size of a large file is a condition, and any stands for it.
    """
    if file_kb is None or data == file_kb:
        return True
    is_large = file_kb > SMALL_FILE_KB and (data is None or data > SMALL_FILE_KB)
    return found.direct is True and is_large
