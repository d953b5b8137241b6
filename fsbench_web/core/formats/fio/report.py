"""What ``fio --output-format=json`` and ``json+`` print, of fio 2 and 3, alone or client/server.

Rates are KiB (fio 2 calls it KB, and counts 1024 bytes), times nanoseconds in fio 3 and
microseconds in fio 2. Source: fio's HOWTO ("JSON+ output"), and output of 2.1, 2.19 and 3.33.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from fsbench_web.core import identity
from fsbench_web.core.formats.fio.naming import (
    NOTHING_BESIDE,
    Beside,
    FioJob,
    described_jobs,
    is_setting,
    is_sum_of_several,
    name_by_identity,
    options_above,
    plain_percent,
    several_jobs,
    stages,
    varying_settings,
)
from fsbench_web.core.formats.json_text import Bins, Json, JsonList, JsonObject, Number, documents
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name
from fsbench_web.core.identity import Identity
from fsbench_web.core.latency import distribution

_MARK = re.compile(r'"fio version"\s*:|"client_stats"\s*:\s*\[|"jobname"\s*:')
# "mixed" is all of them together, where unified_rw_reporting asks for it.
LONGER_THAN_JOB = 2
"""The last requests may end after the time that fio counts."""
_DIRECTIONS = ("read", "write", "trim", "mixed")
_STEADY_RATES = (("iops", "ops/s", Decimal(1)), ("bw", "KB/s", Decimal(1) / 1024))
# fio prints a report when it comes to it: a busy machine does so a moment late.
LATE_S = 0.25
LATE_SHARE = 0.2
# The first and the last interval may be shorter; a short one scatters more than the others.
LEAST_SHARE = 0.8
_LOAD_OPTIONS = {"iodepth": "iodepth", "jobs": "numjobs"}
_LATENCIES = {"clat_ns": ("clat", "ns"), "clat": ("clat", "µs")}
_TOTALS = {"lat_ns": ("lat", "ns"), "lat": ("lat", "µs")}


@dataclass
class _Job(FioJob):
    entry: JsonObject
    options: dict[str, str]
    # The same job in the reports before, oldest first: when they were printed, and what they say.
    earlier_reports: list[tuple[float, JsonObject]] = field(default_factory=list)
    printed_at_s: float | None = None
    is_sum_of_several: bool = False

    @property
    def settings(self) -> dict[str, str]:
        return {option: text for option, text in self.options.items() if self.is_setting(option)}

    @property
    def directions(self) -> list[str]:
        """What it did: reads, writes, trims, or all of them together."""
        return [direction for direction in _DIRECTIONS if _side(self.entry, direction)]

    def what_it_did(self) -> Identity | None:
        """Its identity; None where its options are not known, or not of all that it did."""
        if not self.options or not self.ran_alone or self.is_sum_of_several:
            return None
        found = identity.of_fio(self.options)
        if found is None or found.direction == identity.MIX:
            return found
        return found if self.directions == [found.direction] else None

    @property
    def load(self) -> str:
        """What worked at the same time; empty where the options are of one job of several."""
        if self.is_sum_of_several:
            return ""
        if self.identity is not None:
            return self.identity.load
        counts = {
            kind: int(text)
            for kind, option in _LOAD_OPTIONS.items()
            if re.fullmatch("[0-9]{1,9}", text := self.options.get(option, ""))
        }
        return load_text(**counts)

    def is_setting(self, option: str) -> bool:
        """Whether an option makes another workload; of merged jobs the load does too."""
        is_load = self.is_sum_of_several and option in _LOAD_OPTIONS.values()
        return is_load or is_setting(option)


@dataclass
class _Document:
    root: JsonObject
    jobs: list[_Job] = field(default_factory=list)


@reads("fio-json", "fio", any_line(_MARK.search), has_long_lines=True)
def parse(
    lines: list[str], collector: Collector, beside: Beside = NOTHING_BESIDE, *, by_job: bool = False
) -> ParsedResult:
    """Read all jobs. Tests are named by what was done; ``by_job``: after their jobs."""
    result = collector.result
    documents = _final_documents(list(_documents(lines, beside)), collector)
    if documents:
        version = documents[0].root.text("fio version").strip()
        result.tool_version = version.removeprefix("fio-").removeprefix("fio ")
    if time := next(
        (document.root.text("time") for document in documents if document.root.text("time")), ""
    ):
        result.facts.append(("Run at", quoted(time, 80).strip('"')))
    reports = [document.jobs for document in documents]
    varying = varying_settings([(job.name, job.settings) for job in jobs] for jobs in reports)
    if not by_job:
        name_by_identity(result, reports, _Job.what_it_did)
    varying_of_identity = varying_settings(
        [(_identity_key(job), job.settings) for job in jobs] for jobs in reports
    )
    modes: dict[str, None] = {}
    several = len({job.name for document in documents for job in document.jobs}) > 1
    unlike = _unlike_jobs(documents)
    loads = {tuple(job.load for job in document.jobs) for document in documents}
    for document in documents:
        collector.begin()
        names: Counter[str] = Counter()
        # What tells the reports apart, in the order of their jobs.
        different: dict[str, None] = {}
        for job in document.jobs:
            names[job.name] += 1
            name = job.name if names[job.name] == 1 else f"{job.name}.{names[job.name]}"
            changing = sorted(varying.get(job.name, ()))
            suffix = [f"{option}_{job.options.get(option, 'default')}" for option in changing]
            different |= dict.fromkeys(suffix)
            prefix = "_".join([name, *suffix])
            if job.identity is not None:
                further = sorted(varying_of_identity[_identity_key(job)])
                texts = [f"{option}-{job.options.get(option, 'default')}" for option in further]
                prefix = "_".join([job.identity.stem, *texts])
            costs = _job(collector, prefix, job)
            if job.is_sum_of_several:
                collector.warn(job.entry.line, several_jobs(job.name))
            whose = name if job.name in unlike else job.name if several else ""
            if job.is_sum_of_several:
                whose = job.options.get("name") or f"last job of {job.name}"
            for option, text in sorted(job.settings.items()):
                if option not in changing:
                    setting = f"{option}={text}" if text else option
                    modes[f"{whose}: {setting}" if whose else setting] = None
        own_loads = dict.fromkeys(job.load for job in document.jobs)
        if len(own_loads) > 1 and len(loads) > 1:
            different |= own_loads
        collector.load = next(iter(own_loads)) if len(own_loads) == 1 else ""
        # The disk is of all jobs of a report: of one job it is what this one did.
        is_one = len(document.jobs) == 1 and document.jobs[0].identity is not None
        disk = (costs, "disk_util") if is_one else ("fio_disk_util", *different)
        _disk(collector, document, test_name(*disk))
    result.modes = tuple(modes)
    return collector.finish("This is fio's JSON, and no job in it did any I/O.")


def _identity_key(job: _Job) -> str:
    return f"{job.identity.name}@{job.identity.load}" if job.identity is not None else ""


def _unlike_jobs(documents: list[_Document]) -> set[str]:
    """Names that several jobs of one report have, with other settings each: no processes of one."""
    first: dict[tuple[int, str], dict[str, str]] = {}
    unlike = set()
    for number, document in enumerate(documents):
        for job in document.jobs:
            if first.setdefault((number, job.name), job.settings) != job.settings:
                unlike.add(job.name)
    return unlike


def _documents(lines: list[str], beside: Beside) -> Iterator[_Document]:
    """The reports in the file, whatever stands before, between and after them."""
    descriptions = described_jobs(lines, beside)
    for root in documents(lines):
        document = _Document(root)
        # The jobs of a run have names of their own, whatever [global] is called.
        shared = _options(root.object("global options"))
        shared.pop("name", None)
        hosts = {entry.text("hostname") for entry in root.objects("client_stats")} - {""}
        for key in ("jobs", "client_stats"):
            for entry in root.objects(key):
                name = entry.text("jobname") or "job"
                if len(hosts) > 1 and entry.text("hostname"):
                    name = f"{name}.{entry.text('hostname')}"
                options = {**shared, **_options(entry.object("job options"))}
                if not options:  # fio 2.1
                    options = dict(options_above(descriptions, entry.line, test_name(name)) or {})
                job = _Job(test_name(name), entry, options, printed_at_s=_printed_at_s(root))
                job.is_sum_of_several = key == "jobs" and is_sum_of_several(
                    entry, job.name, options
                )
                document.jobs.append(job)
        if document.jobs:
            of_jobs = stages([job.options for job in document.jobs])
            for job, stage in zip(document.jobs, of_jobs, strict=True):
                job.ran_alone = len(hosts) < 2 and of_jobs.count(stage) == 1
            yield document


def _options(options: JsonObject) -> dict[str, str]:
    settings = {}
    for name, value in options:
        text = value.text if isinstance(value, Number) else value
        settings[name[:60]] = text[:200] if isinstance(text, str) else ""
    return settings


def _final_documents(documents: list[_Document], collector: Collector) -> list[_Document]:
    """The documents without those of --status-interval, which the next one includes.

    A report goes on with a run that began before the previous report was printed.
    """
    final_documents: list[_Document] = []
    for document in documents:
        if final_documents and _continues(final_documents[-1], document):
            for job, earlier in zip(document.jobs, final_documents[-1].jobs, strict=True):
                assert earlier.printed_at_s is not None
                job.earlier_reports = [
                    *earlier.earlier_reports,
                    (earlier.printed_at_s, earlier.entry),
                ]
            final_documents[-1] = document
        else:
            final_documents.append(document)
    if len(final_documents) < len(documents):
        count = len(documents) - len(final_documents)
        collector.warn(
            None,
            f"{count} reports of intervals are kept as samples alone: the last one includes them.",
            is_note=True,
        )
    return final_documents


def _continues(before: _Document, after: _Document) -> bool:
    if [job.name for job in before.jobs] != [job.name for job in after.jobs]:
        return False
    first, second = _printed_at_s(before.root), _printed_at_s(after.root)
    if first is None or second is None:
        return False
    ran_s = 0.0
    for job in after.jobs:
        # fio counts a second that has begun as elapsed.
        for key, unit_s, begun in (("elapsed", 1.0, 1.0), ("job_runtime", 0.001, 0.0)):
            if (ran := job.entry.amount(key)) is not None:
                ran_s = max(ran_s, ran * unit_s - begun)
    return first - ran_s <= second - ran_s < first


def _printed_at_s(root: JsonObject) -> float | None:
    for key, unit_s in (("timestamp_ms", 0.001), ("timestamp", 1.0)):
        if (time := root.amount(key)) is not None:
            return time * unit_s
    return None


def _job(collector: Collector, name: str, job: _Job) -> str:
    """Read a job; the name that its costs are kept by. ``name``: its own, or its stem."""
    collector.load = job.load
    error = job.entry.number("error")
    if error is not None and float(error.text) != 0:
        collector.lose(error.line, f"fio says that {job.name} ended with error {error.text}.")
    collector.is_steady = _verdict(job.entry)
    directions = [
        direction for direction in _DIRECTIONS if _direction(collector, name, direction, job)
    ]
    if not directions and not (error is not None and float(error.text)):
        collector.warn(job.entry.line, f"Job {job.name} did no I/O: nothing of it is kept.")
    # Of several directions fio looks at the sum.
    window_name = test_name(name, *directions) if len(directions) == 1 else name
    _add_window(collector, window_name, job.entry)
    collector.is_steady = None
    if job.identity is not None:
        name = window_name  # reads and writes have one stem
    for key in ("usr_cpu", "sys_cpu"):
        # fio 2 and 3 print them of every job, also of one that did nothing.
        if (cpu := job.entry.number(key)) is not None and float(cpu.text) > 0:
            collector.add(test_name(name, key), cpu.text, "% CPU", cpu.line)
    latency = job.entry.object("sync").object("lat_ns")
    longest = latency.number("max")
    if longest is not None and _is_longer_than_job(longest, job.entry):
        message = "fio reports a sync longer than the job. Its sync latencies stay missing."
        collector.warn(longest.line, f"{job.name}: {message}")
    elif not job.entry.object("sync").is_zero("total_ios"):
        _latency(collector, test_name(name, "sync_lat"), latency, "ns")
    return name


def _is_longer_than_job(latency: Number, entry: JsonObject) -> bool:
    """Whether a time in ns is above the job's, as some of fio 3.33 are with several requests."""
    runtime_ms = entry.amount("job_runtime") or 0.0
    return 0 < LONGER_THAN_JOB * 1e6 * runtime_ms < float(latency.text)


def _direction(collector: Collector, name: str, direction: str, job: _Job) -> bool:
    """Rates and latencies of reads, writes or trims; False where none were done."""
    side = _side(job.entry, direction)
    if side is None:
        return False
    intervals = _intervals(job, direction)
    for place, key, unit in ((1, "bw", "KB/s"), (0, "iops", "ops/s")):
        if (rate := side.number(key)) is not None:
            test = test_name(name, direction, key)
            samples = [rates[place] for rates in intervals]
            collector.add(test, rate.text, unit, rate.line, samples=samples)
    for kinds in (_LATENCIES, _TOTALS):
        for key, (kind, unit) in kinds.items():
            if (latency := side.object(key)) and not latency.is_zero("N"):
                _latency(collector, test_name(name, direction, kind), latency, unit)
                break
    return True


def _side(entry: JsonObject, direction: str) -> JsonObject | None:
    side = entry.object(direction)
    return None if not side or side.is_zero("total_ios") or side.is_zero("io_bytes") else side


def _disk(collector: Collector, document: _Document, test: str) -> None:
    """How busy the disk was, if it is one. It has no name: devices of a LUN change."""
    disks = document.root.objects("disk_util")
    busy = disks[0].number("util") if len(disks) == 1 else None
    if busy is not None and float(busy.text) > 0:
        collector.add(test, busy.text, "% of time", busy.line)


def _intervals(job: _Job, direction: str) -> list[tuple[float, float]]:
    """The rates of each interval, where fio reported them (interval_rates)."""
    if job.printed_at_s is None or not job.earlier_reports:
        return []
    reports = []
    for at_s, entry in [*job.earlier_reports, (job.printed_at_s, job.entry)]:
        side = entry.object(direction)
        runtime, ios, size = map(side.amount, ("runtime", "total_ios", "io_bytes"))
        # In fio 2, which has no io_kbytes, io_bytes are KB.
        if runtime is None or ios is None or size is None or not side.number("io_kbytes"):
            return []
        reports.append(Report(at_s, runtime / 1000, ios, size / 1024))
    return interval_rates(reports)


def _latency(collector: Collector, name: str, latency: JsonObject, unit: str) -> None:
    if (mean := latency.number("mean")) is not None:
        collector.add(f"{name}_mean", mean.text, unit, mean.line)
    if (longest := latency.number("max")) is not None:
        collector.add(f"{name}_max", longest.text, unit, longest.line)
    _distribution(collector, name, latency, unit)
    percentiles = latency.object("percentile")
    texts: dict[str, set[str]] = {}
    for percent, value in percentiles:
        if isinstance(value, Number):
            texts.setdefault(percent, set()).add(value.text)
    seen: set[str] = set()
    for percent, value in percentiles:
        # fio 2 fills the rest of its list with "0.00", once for each percentile not asked for.
        if not isinstance(value, Number) or percent in seen or not percent.strip("0."):
            continue
        seen.add(percent)
        if len(texts[percent]) > 1:
            message = f"{name}: the percentile {quoted(percent)} is given twice; it stays missing."
            collector.warn(value.line, message)
        elif re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,12})?", percent):
            collector.add(f"{name}_p{plain_percent(percent)}", value.text, unit, value.line)


def _distribution(collector: Collector, name: str, latency: JsonObject, unit: str) -> None:
    """Keep the bins of JSON+: their names are the middles of fio's bins in nanoseconds."""
    bins = latency.get("bins")
    if not isinstance(bins, Bins):
        return
    shortest, longest = latency.amount("min"), latency.amount("max")
    found = distribution(name, collector.load, unit, bins.pairs(), shortest, longest)
    collector.add_distribution(found)


def _verdict(entry: JsonObject) -> bool | None:
    """Whether a steady state was attained; None where the job was to stop at none."""
    answer = entry.object("steadystate").amount("attained")
    return None if answer is None else answer != 0


def _add_window(collector: Collector, name: str, entry: JsonObject) -> None:
    """Keep the means of the steady window (bytes/s), with its seconds as samples."""
    if not _verdict(entry):
        return
    data = entry.object("steadystate").object("data")
    for kind, unit, times in _STEADY_RATES:
        mean = data.number(f"{kind}_mean")
        if mean is None or float(mean.text) <= 0:
            continue
        seconds = [value * float(times) for value in _numbers(data.get(kind))]
        test = test_name(name, f"steady_{kind}")
        collector.add(test, mean.text, unit, mean.line, times=times, samples=seconds)


def _numbers(values: Json) -> list[float]:
    if not isinstance(values, JsonList):
        return []
    return [float(value.text) for value in values if isinstance(value, Number)]


class Report(NamedTuple):
    """What one report says of a direction: seconds since some moment, and counts so far."""

    printed_at_s: float
    runtime_s: float
    ios: float
    kilobytes: float


def interval_rates(reports: Sequence[Report]) -> list[tuple[float, float]]:
    """(operations/s, KB/s of 1024 bytes) in each whole interval, oldest first.

    ``reports`` are those of one run in order; each counts from the start, so neighbours are
    subtracted. Reports of the ramp time are left out: fio's clock runs back when it ends. So are
    clearly shorter intervals at the start and the end.
    """
    measured = list(reports[-1:])
    for before in reversed(reports[:-1]):
        after = measured[0]
        passed_s = after.printed_at_s - before.printed_at_s
        ran_s = after.runtime_s - before.runtime_s
        late_s = max(LATE_S, passed_s * LATE_SHARE)
        if ran_s < 0 or abs(passed_s - ran_s) > late_s or after.ios < before.ios:
            break
        measured.insert(0, before)
    if len(measured) < 2:
        return []
    counted = [Report(0.0, 0.0, 0.0, 0.0), *measured]
    pairs = [(a, b) for a, b in pairwise(counted) if b.runtime_s > a.runtime_s]
    usual_s = median(b.runtime_s - a.runtime_s for a, b in pairs)
    rates = []
    for before, after in pairs:
        length_s = after.runtime_s - before.runtime_s
        if length_s >= LEAST_SHARE * usual_s:
            rates.append(
                (
                    (after.ios - before.ios) / length_s,
                    (after.kilobytes - before.kilobytes) / length_s,
                )
            )
    return rates if len(rates) > 1 else []
