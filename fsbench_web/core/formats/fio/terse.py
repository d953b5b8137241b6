"""What ``fio --output-format=terse`` (``--minimal``) prints: a line a job, versions 2 to 5.

Rates are KiB/s, times microseconds, or in the unit of fio's JSON for jobs named by what they did. A
job that is given again is a repeat. Source: fio's HOWTO ("Terse output"), and output of 1.57 and
3.33.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from fsbench_web.core import identity
from fsbench_web.core.formats.fio.naming import (
    NOTHING_BESIDE,
    Beside,
    FioJob,
    Options,
    beside_of,
    described_jobs,
    name_by_identity,
    options_above,
    plain_percent,
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
_LEAST_GROWTH = 1.1
"""Repeats that ran for a time differ by less in it, and those of one size did as much."""
_NEAR = 16
_OLDEST_BLOCK = 40
"""Fields of a direction in fio 1, without operations a second."""
_DIRECTIONS = ("read", "write", "trim")
_LATENCIES = 20
"""Percentiles that each direction has room for; those not asked for are 0%=0."""


@dataclass
class _Job(FioJob):
    """A line: one process, or all of a group. ``fields`` are those behind its ``error``."""

    line: int
    version: str
    said: str
    error: str
    fields: list[str]
    options: Options | None = None

    @property
    def label(self) -> str:
        return self.said

    @property
    def block_size(self) -> int | None:
        """How many fields a direction has: found by where its percentiles stand."""
        first = next((index for index, text in enumerate(self.fields) if "%=" in text), None)
        if first not in (11, 12):
            return None
        size = first + _LATENCIES + 4 + (11 if self.version == "5" else 5)
        return size if len(self.fields) >= 2 * size else None

    @property
    def blocks(self) -> dict[str, list[str]]:
        """What it says of reads, writes and trims, as far as it does."""
        size = self.block_size or 0
        starts = range(0, len(_DIRECTIONS) * size, size) if size else ()
        blocks = (self.fields[start : start + size] for start in starts)
        whole = takewhile(lambda block: len(block) == size and _is_block(block), blocks)
        return dict(zip(_DIRECTIONS, whole, strict=False))

    def what_it_did(self) -> Identity | None:
        """Its identity; None where its options are not known, or not of all that it did."""
        found = identity.of_fio(self.options) if self.options else None
        # Without group_reporting each line is one process of a job.
        if not self.options or found is None:
            return None
        if found.jobs != 1 and "group_reporting" not in self.options:
            return None
        did = [way for way, block in self.blocks.items() if block[0] != "0"]
        return found if found.direction == identity.MIX or did == [found.direction] else None


def _recognises(lines: list[str]) -> bool:
    return any(_LINE.match(line) and line.count(";") > 40 for line in lines)


@reads("fio-terse", "fio", _recognises)
def parse(lines: list[str], collector: Collector, beside: Beside = NOTHING_BESIDE) -> ParsedResult:
    """Read all jobs, named by what was done where the text or ``beside`` says it."""
    result = collector.result
    descriptions = described_jobs(lines, beside)
    jobs: list[_Job] = []
    for number, line in enumerate(lines, start=1):
        if (head := _LINE.match(line)) is None:
            continue
        version, fio, label, error = head.groups()
        result.tool_version = result.tool_version or (fio or "").removeprefix("fio-").strip()
        fields = line[head.end() :].strip().split(";")
        job = _Job(test_name(label), number, version or "2", label, error, fields)
        job.options = options_above(descriptions, number, job.name)
        jobs.append(job)
    if (interval := _interval(jobs)) is not None:
        collector.refuse(
            interval.line,
            f"Job {interval.label} is given again below this line with more done in more time, "
            "which is no repeat of it. If these are reports of --status-interval, keep the last "
            "line of each process, which includes them; if they are several runs, make each a file "
            "of its own.",
        )
    name_by_identity(result, [[job] for job in jobs], _Job.what_it_did)
    result.beside = beside_of(beside, {job.name for job in jobs})
    seen: set[str] = set()
    for job in jobs:
        if job.label in seen:
            message = (
                f"Job {job.label} is given again and taken as a repeat. Processes of one job look "
                "the same: run fio with --group_reporting to have them together."
            )
            collector.warn(job.line, message, is_note=True)
        seen.add(job.label)
        if job.error != "0":
            collector.lose(job.line, f"fio says that {job.label} ended with error {job.error}.")
        is_named = job.identity is not None
        collector.begin(settings_of(job.options) if job.options and is_named else ())
        _keep(collector, job)
    if unknown := [job for job in jobs if job.identity is None]:
        result.warnings.append(work_unsaid(unknown[0].line))
    return collector.finish("No job in fio's terse output did any I/O.")


def _interval(jobs: Sequence[_Job]) -> _Job | None:
    """The first line that one below goes on from, as reports of --status-interval do."""
    jobs_of: dict[str, list[_Job]] = {}
    for job in jobs:
        jobs_of.setdefault(job.label, []).append(job)
    for alike in jobs_of.values():
        # A report has a line for each process of a job, which look the same.
        for place, before in enumerate(alike):
            if any(_goes_on(before, after) for after in alike[place + 1 : place + 1 + _NEAR]):
                return before
    return None


def _goes_on(before: _Job, after: _Job) -> bool:
    """Whether the second line counts on: more done, in clearly more time, and no latency lost."""
    is_longer = False
    for old, new in zip(before.blocks.values(), after.blocks.values(), strict=False):
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


def _is_block(block: list[str]) -> bool:
    return all(_COUNT.fullmatch(text.strip()) for text in block[:4])


def _keep(collector: Collector, job: _Job) -> None:
    name, unit = job.name, "µs"
    if job.identity is not None:
        name, collector.load = job.identity.stem, job.identity.load
        unit = time_unit(collector.result.tool_version)
    if job.block_size is None:
        message = (
            f"The line ends after {len(job.fields)} values of job {name}: it is cut off, or its "
            "fields are not those of fio's terse output."
        )
        collector.refuse(job.line, message)
    for direction, block in job.blocks.items():
        # Total KB, rate, (operations a second,) runtime; min, max, mean, deviation of slat and
        # clat.
        if block[0] != "0":
            _keep_block(collector, test_name(name, direction), block, job.line, unit)


def _keep_block(collector: Collector, name: str, block: list[str], line: int, unit: str) -> None:
    add_time = partial(collector.add, unit=unit, line=line, times=1000 if unit == "ns" else 1)
    collector.add(f"{name}_bw", block[1], "KB/s", line)
    has_iops = len(block) != _OLDEST_BLOCK
    latencies = 4 if has_iops else 3
    if has_iops:
        collector.add(f"{name}_iops", block[2], "ops/s", line)
    if block[latencies + 5] != "0":
        add_time(f"{name}_clat_mean", block[latencies + 6])
        for text in block[latencies + 8 : latencies + 8 + _LATENCIES]:
            pair = _PERCENTILE.match(text)
            if pair is not None and pair[1].strip("0.,"):
                percent = plain_percent(pair[1].replace(",", "."))
                add_time(f"{name}_clat_p{percent}", pair[2])
    total = latencies + 8 + _LATENCIES
    if block[total + 1] != "0":
        add_time(f"{name}_lat_mean", block[total + 2])
