"""Job files of fio from other people, rewritten from a closed list of options. Pure.

fio has options that run programs, write any path or load code. So fsbench never runs the text that
came, but writes it again from what it understood. Source: fio(1), version 3.33.
"""

import re
from collections.abc import Mapping

from fsbench_web.core.workloads.parameters import ParameterError

MOST_BYTES = 32 * 1024
MOST_JOBS = 64
_SECTION = re.compile(r"\[([A-Za-z0-9][A-Za-z0-9_-]{0,39})\]")
_OPTION = re.compile(r"([a-z][a-z0-9_]{0,39})(?:\s*=\s*(.*))?")

_NUMBER = r"[0-9]{1,12}"
_SIZE = r"[0-9]{1,12}([kKmMgGtT](i?[bB])?)?"
_SHARE = r"([0-9]|[1-9][0-9]|100)"
_FLAG = r"[01]"
_TIME = r"[0-9]{1,9}(us|ms|s|m|h|d)?"
_COUNT = r"[1-9][0-9]{0,2}"

# What fsbench sets itself (directory, the output's format) is not here, nor is what names a path.
OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("rw", "readwrite"), "read|write|randread|randwrite|rw|readwrite|randrw|trim|randtrim"
    ),
    "ioengine": "sync|psync|vsync|pvsync|pvsync2|libaio|io_uring|posixaio|mmap",
    **dict.fromkeys(("bs", "blocksize", "ba", "blockalign"), rf"{_SIZE}(,{_SIZE}){{0,2}}"),
    **dict.fromkeys(("bsrange", "blocksize_range"), rf"{_SIZE}-{_SIZE}"),
    "bssplit": rf"{_SIZE}/{_SHARE}(:{_SIZE}/{_SHARE}){{0,63}}",
    **dict.fromkeys(("size", "io_size", "offset"), _SIZE),
    "filesize": rf"{_SIZE}(-{_SIZE})?",
    **dict.fromkeys(("nrfiles", "openfiles"), r"[1-9][0-9]{0,5}"),
    "file_service_type": "random|roundrobin|sequential",
    **dict.fromkeys(("numjobs", "iodepth_batch", "iodepth_low", "iodepth_batch_complete"), _COUNT),
    "iodepth": r"[1-9][0-9]{0,3}",
    **dict.fromkeys(("runtime", "ramp_time", "startdelay", "thinktime"), _TIME),
    **dict.fromkeys(
        ("loops", "number_ios", "rate_iops", "fsync", "fdatasync", "randseed"), _NUMBER
    ),
    "rate": _SIZE,
    **dict.fromkeys(
        (
            *("rwmixread", "rwmixwrite", "percentage_random"),
            *("buffer_compress_percentage", "dedupe_percentage"),
        ),
        _SHARE,
    ),
    # The job ends when its rate is steady: fio's own rule (fio(1), "Steady state").
    **dict.fromkeys(("steadystate", "ss"), rf"(iops|bw)(_slope)?:{_NUMBER}(\.[0-9]{{1,6}})?%?"),
    **dict.fromkeys(
        (*("steadystate_duration", "ss_dur", "steadystate_ramp_time", "ss_ramp"),),
        _TIME,
    ),
    "random_distribution": r"random|(zipf|pareto|normal):[0-9]{1,3}(\.[0-9]{1,6})?",
    "fallocate": "none|native|posix|keep|truncate",
    **dict.fromkeys(
        (
            *("direct", "buffered", "invalidate", "end_fsync", "fsync_on_close", "create_fsync"),
            *("overwrite", "norandommap", "randrepeat", "allrandrepeat", "time_based", "thread"),
            *("refill_buffers", "zero_buffers", "scramble_buffers", "group_reporting"),
            *("stonewall", "new_group", "create_serialize", "unlink"),
        ),
        _FLAG,
    ),
}
# They may stand alone, which means yes.
FLAGS = frozenset(name for name, pattern in OPTIONS.items() if pattern == _FLAG)


def checked_job(text: str) -> str:
    """The same job file, rewritten without comments. Raises ParameterError with the wrong line."""
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise ParameterError(f"A job file has {MOST_BYTES // 1024} KiB at most.")
    written: list[str] = []
    jobs: list[str] = []
    for number, raw in enumerate(re.split(r"\r\n|\n", text), start=1):
        line = raw.strip(" \t")
        if not line or line[0] in ";#":
            continue
        if section := _SECTION.fullmatch(line):
            if section[1] != "global":
                jobs.append(section[1])
            written.append(line)
            continue
        if not written:
            raise ParameterError(f"Line {number}: an option stands before the first [job].")
        written.append(_checked_option(number, line))
    if not jobs:
        raise ParameterError("The job file has no job: begin one with [name].")
    if len(jobs) > MOST_JOBS or len(set(jobs)) < len(jobs):
        raise ParameterError(f"A job file has {MOST_JOBS} jobs at most, each of its own name.")
    return "\n".join(written) + "\n"


def _checked_option(number: int, line: str) -> str:
    match = _OPTION.fullmatch(line)
    if match is None:
        raise ParameterError(f"Line {number}: {_short(line)} is neither [job] nor option=value.")
    name, value = match[1], match[2]
    pattern = OPTIONS.get(name)
    if name == "directory":
        raise ParameterError(f"Line {number}: leave directory out, fsbench sets it.")
    if pattern is None:
        raise ParameterError(
            f"Line {number}: the option {name} is not among those that fsbench lets through; "
            "the form for uploads lists them."
        )
    if value is None and name in FLAGS:
        return name
    if value is None or not re.fullmatch(pattern, value, re.ASCII):
        raise ParameterError(f"Line {number}: {name} cannot be {_short(value or '')}.")
    return f"{name}={value}"


def _short(text: str) -> str:
    shortened = text if len(text) <= 60 else f"{text[:59]}…"
    return f"“{shortened}”"
