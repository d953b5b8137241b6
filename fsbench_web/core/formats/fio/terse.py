"""What ``fio --output-format=terse`` (``--minimal``) prints: a line a job, versions 2 to 5.

Rates are KiB/s, times microseconds; of a job that is named by what it did they are in the unit of
fio's JSON. Version 2 is known in two forms: fio 1.x and 2.0 gave no
operations a second. Source: fio's HOWTO ("Terse output"), and output of 3.33 in all four versions.
A job that is given again is taken as a repeat: processes of one job look the same.
"""

import re
from collections.abc import Sequence
from functools import partial

from fsbench_web.core import identity
from fsbench_web.core.formats.fio.naming import (
    NOTHING_BESIDE,
    Beside,
    Options,
    beside_of,
    described_jobs,
    naming_identities,
    note_names,
    options_above,
    settings_of,
    time_unit,
    work_unsaid,
)
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, reads, test_name
from fsbench_web.core.identity import Identity

_LINE = re.compile(r"^\s*(?:([345]);(fio-[^;]*)|2);([^;]*);[0-9]+;(-?[0-9]+);(?=[0-9]+;)")
_COUNT = re.compile("[0-9]{1,18}")
_PERCENTILE = re.compile(r"^([0-9]{1,3}(?:[.,][0-9]+)?)%=([0-9]+)$")
_Line = tuple[int, re.Match[str], list[str]]
"""Its number, what begins it, and the fields behind."""
_LEAST_GROWTH = 1.1
"""Repeats that ran for a time differ by less in it, and those of one size did as much."""
_NEAR = 16
_OLDEST_BLOCK = 40
"""Fields of a direction in fio 1, without operations a second."""
_DIRECTIONS = ("read", "write", "trim")
_LATENCIES = 20
"""Percentiles that each direction has room for; those not asked for are 0%=0."""


def _recognises(lines: list[str]) -> bool:
    """Whether any line starts as fio's terse output does, and is as long."""
    return any(_LINE.match(line) and line.count(";") > 40 for line in lines)


@reads("fio-terse", "fio", _recognises)
def parse(lines: list[str], collector: Collector, beside: Beside = NOTHING_BESIDE) -> ParsedResult:
    """All values of all jobs, named by what was done where the text or ``beside`` says it.

    Raises UnreadableFile when a line ends too early.
    """
    result = collector.result
    seen: set[str] = set()
    jobs = [
        (number, head, line[head.end() :].strip().split(";"))
        for number, line in enumerate(lines, start=1)
        if (head := _LINE.match(line)) is not None
    ]
    if (interval := _interval(jobs)) is not None:
        collector.refuse(
            interval[0],
            f"Job {interval[1][3]} is given again below this line with more done in more time, "
            "which is no repeat of it. If these are reports of --status-interval, keep the last "
            "line of each process, which includes them; if they are several runs, make each a file "
            "of its own.",
        )
    descriptions = described_jobs(lines, beside)
    options = [options_above(descriptions, line[0], test_name(line[1][3])) for line in jobs]
    found = naming_identities(
        [
            [(test_name(line[1][3]), _what_it_did(line, of_job))]
            for line, of_job in zip(jobs, options, strict=True)
        ]
    )
    identities = [of_job for [of_job] in found]
    result.beside = beside_of(beside, {test_name(line[1][3]) for line in jobs})
    note_names(
        result, [line[1][3] for line, of in zip(jobs, identities, strict=True) if of is not None]
    )
    for (line_number, head, fields), of_job, said in zip(jobs, identities, options, strict=True):
        version, fio, name, error = head.groups()
        result.tool_version = result.tool_version or (fio or "").removeprefix("fio-").strip()
        if name in seen:
            message = (
                f"Job {name} is given again and taken as a repeat. Processes of one job look the "
                "same: run fio with --group_reporting to have them together."
            )
            collector.warn(line_number, message, is_note=True)
        seen.add(name)
        if error != "0":
            collector.lose(line_number, f"fio says that {name} ended with error {error}.")
        collector.begin(settings_of(said) if said and of_job is not None else ())
        test, load = (test_name(name), "") if of_job is None else (of_job.stem, of_job.load)
        unit = "µs" if of_job is None else time_unit(result.tool_version)
        _job(collector, version or "2", test, load, fields, line_number, unit)
    if unknown := [line for line, of in zip(jobs, identities, strict=True) if of is None]:
        result.warnings.append(work_unsaid(unknown[0][0]))
    return collector.finish("No job in fio's terse output did any I/O.")


def _what_it_did(line: _Line, options: Options | None) -> Identity | None:
    found = identity.of_fio(options) if options else None
    # Without group_reporting each line is one process of a job.
    if options is None or found is None or (found.jobs != 1 and "group_reporting" not in options):
        return None
    ways = zip(_DIRECTIONS, _blocks(line), strict=False)
    did = [way for way, block in ways if block[0] != "0"]
    return found if found.direction == identity.MIX or did == [found.direction] else None


def _interval(jobs: Sequence[_Line]) -> _Line | None:
    """The first line that one below goes on from, as reports of --status-interval do."""
    lines_of: dict[str, list[_Line]] = {}
    for line in jobs:
        lines_of.setdefault(line[1][3], []).append(line)
    for lines in lines_of.values():
        # A report has a line for each process of a job, which look the same.
        for place, before in enumerate(lines):
            if any(_goes_on(before, after) for after in lines[place + 1 : place + 1 + _NEAR]):
                return before
    return None


def _goes_on(before: _Line, after: _Line) -> bool:
    """Whether the second line counts on: more done, in clearly more time, and no latency lost."""
    is_longer = False
    for old, new in zip(_blocks(before), _blocks(after), strict=False):
        time = 2 if len(old) == _OLDEST_BLOCK else 3
        done, ran, before_ms = int(new[0]) - int(old[0]), int(new[time]), int(old[time])
        is_longer = is_longer or (done > 0 and 0 < before_ms * _LEAST_GROWTH <= ran)
        # The shortest and the longest latency, which end in whole microseconds.
        pairs = [(old[time + place], new[time + place]) for place in (5, 6)]
        if old[0] != "0" and all(_COUNT.fullmatch(text) for pair in pairs for text in pair):
            (least, least_now), (most, most_now) = ((int(a), int(b)) for a, b in pairs)
            if least_now > least or most_now < most:
                return False
        if done < 0 or ran < before_ms:
            return False
    return is_longer


def _blocks(line: _Line) -> list[list[str]]:
    """What it says of reads, writes and trims, as far as it does."""
    _, head, fields = line
    size = _block_size(head[1] or "2", fields)
    if size is None:
        return []
    blocks = [fields[start : start + size] for start in range(0, len(_DIRECTIONS) * size, size)]
    return [block for block in blocks if len(block) == size and _is_block(block)]


def _job(
    collector: Collector,
    version: str,
    name: str,
    load: str,
    fields: list[str],
    line: int,
    unit: str,
) -> None:
    size = _block_size(version, fields)
    if size is None:
        message = (
            f"The line ends after {len(fields)} values of job {name}: it is cut off, or its fields "
            "are not those of fio's terse output."
        )
        collector.refuse(line, message)
        return
    start = 0
    for direction in _DIRECTIONS:
        block = fields[start : start + size]
        if len(block) < size or not _is_block(block):
            break
        test, has_iops = test_name(name, direction), size != _OLDEST_BLOCK
        _block(collector, test, load, block, line, unit, has_iops=has_iops)
        start += size


def _block_size(version: str, fields: list[str]) -> int | None:
    """How many fields a direction has: found by where its percentiles stand."""
    first = next((index for index, text in enumerate(fields) if "%=" in text), None)
    if first not in (11, 12):
        return None
    size = first + _LATENCIES + 4 + (11 if version == "5" else 5)
    return size if len(fields) >= 2 * size else None


def _is_block(block: list[str]) -> bool:
    return all(_COUNT.fullmatch(text.strip()) for text in block[:4])


def _block(
    collector: Collector,
    name: str,
    load: str,
    block: list[str],
    line: int,
    unit: str,
    *,
    has_iops: bool,
) -> None:
    # Total KB, rate, (operations a second,) runtime; min, max, mean, deviation of slat and clat.
    if block[0] == "0":
        return
    add_time = partial(
        collector.add, unit=unit, line=line, load=load, times=1000 if unit == "ns" else 1
    )
    collector.add(f"{name}_bw", block[1], "KB/s", line, load=load)
    latencies = 4 if has_iops else 3
    if has_iops:
        collector.add(f"{name}_iops", block[2], "ops/s", line, load=load)
    if block[latencies + 5] != "0":
        add_time(f"{name}_clat_mean", block[latencies + 6])
        for text in block[latencies + 8 : latencies + 8 + _LATENCIES]:
            pair = _PERCENTILE.match(text)
            if pair is not None and pair[1].strip("0.,"):
                percent = pair[1].replace(",", ".")
                plain = percent.rstrip("0").rstrip(".") if "." in percent else percent
                add_time(f"{name}_clat_p{plain}", pair[2])
    total = latencies + 8 + _LATENCIES
    if block[total + 1] != "0":
        add_time(f"{name}_lat_mean", block[total + 2])
