"""The report that fio prints without ``--output-format`` (``normal``), of fio 1.x to 3.

fio rounds rates to four digits there. Rates become KB/s of 1024 bytes, times nanoseconds
(microseconds of fio before 2.99), as in its JSON. Source: fio's HOWTO ("Interpreting the output"),
and output of 1.5x, 2.x and 3.33.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from fsbench_web.core import identity
from fsbench_web.core.formats import dates
from fsbench_web.core.formats.fio.naming import (
    NOTHING_BESIDE,
    Beside,
    Description,
    FioJob,
    Options,
    beside_of,
    cache_unsaid,
    described_jobs,
    name_by_identity,
    options_above,
    plain_percent,
    settings_of,
    several_jobs,
    time_unit,
    varying_settings,
    work_unsaid,
)
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, prefixed, reads, test_name
from fsbench_web.core.identity import Identity

_HOST = r"^(?:<([^<>]{1,80})> ?)?\s*"
_PLAN = re.compile(
    _HOST + r"(\S[^:]*): \(g=([0-9]+)\): (rw=.*?)(?:, iodepth=([0-9]{1,9}))?(?<!\s)\s*$"
)
_JOB = re.compile(
    _HOST + r"(\S[^:]*): \(groupid=([0-9]+)(?:, jobs=([0-9]{1,9}))?\): err=\s*([0-9]+)(.*)$"
)
_WHEN = re.compile(r"pid=([0-9]+)(?:: (\S.{0,40}?))?\s*$")
_VERSION = re.compile(_HOST + r"fio[- ]([0-9]+\.[0-9A-Za-z.-]{1,40})$")
_START = re.compile(_HOST + r"Starting [0-9]+ (?:process|thread)")
_END = re.compile(_HOST + r"Run status group [0-9]+ ")
_SIDE = re.compile(_HOST + r"(read|write|trim|mixed)\s*:\s*(?=IOPS=|io=)(.*)$")
_IOPS = re.compile(r"\b(?:IOPS|iops)=\s*([0-9]+(?:\.[0-9]+)?)([kKMG]?)\s*,")
_RATE = re.compile(r"(?<![0-9])([0-9]++(?:\.[0-9]++)?)([kKMGTP]?)(i?)B/s\b")
# What was done, and for how long: fio 1 and 2 say both by name.
_DONE = re.compile(r"(?:\(|\bio=\s*)([0-9]++(?:\.[0-9]++)?)([kKMGTP]?)i?B(?=/[0-9]++msec\)|,)")
_RAN = re.compile(r"(?:/|\brunt=\s*)([0-9]+)\s?msec")
_LATENCY = re.compile(
    _HOST + r"(clat|lat|sync)\s*\(([num]sec)\)\s*:\s*min=.*?avg=\s*([0-9]+(?:\.[0-9]+)?),"
)
_PERCENTILES = re.compile(_HOST + r"(\S.*?) percentiles \(([num]sec)\):")
_PERCENTILE = re.compile(r"([0-9]{1,3}\.[0-9]{1,12})th=\[\s*(>?[0-9]+)\]")
_SIZES = r"([^\s-]+)-([^\s,]+)"
_BLOCKS = re.compile(rf"bs=\(R\) {_SIZES}, \(W\) {_SIZES}, \(T\) {_SIZES}(?=,|$)")
_SETTING = re.compile(r"(rw|bs|bs_is_seq_rand|ioengine)=(.*?)(?=, (?:bs|bs_is_\w+|ioengine)=|$)")
_WAY = re.compile(r"(rand)?(read|write|trim)")
_NANOSECONDS = {"nsec": 1, "usec": 1000, "msec": 10**6}
_LEAST_GROWTH = 1.1
"""Repeats that ran for a time differ by less in it."""
_MICROSECONDS: dict[str, Decimal | int] = {"nsec": Decimal("0.001"), "usec": 1, "msec": 1000}


@dataclass(frozen=True)
class _Plan:
    name: str
    text: str = ""
    iodepth: int | None = None


_Plans = dict[tuple[str, str], dict[str, list[_Plan]]]
"""By host and group, and by name, in their order."""


@dataclass
class _Value:
    kind: str
    text: str
    unit: str
    line: int
    times: Decimal | int = 1


@dataclass
class _Job(FioJob):
    """One process, or all of a group, as one report tells it."""

    host: str
    group: str
    jobs: int
    pid: str
    at: datetime | None
    line: int
    error: str
    plans: list[_Plan] = field(default_factory=list)
    """Its own, and those of others of its group that group_reporting put into this report."""
    is_one_of_several: bool = False
    values: list[_Value] = field(default_factory=list)
    done_kb: dict[str, Decimal] = field(default_factory=dict)
    """By read, write and trim; and for how long, in seconds."""
    ran_s: dict[str, float] = field(default_factory=dict)
    options: Options | None = None
    """By the command or the job file above it, or another job file."""
    # Of the read, write or trim whose lines follow, and of the percentiles.
    side: str = ""
    percentiles: tuple[str, str] = ("", "")

    @property
    def settings(self) -> dict[str, str]:
        """Those of its plan; of several in one report all that differ."""
        settings: dict[str, dict[str, None]] = {}
        for plan in self.plans:
            for name, text in _settings_of_plan(self, plan).items():
                settings.setdefault(name, {})[text] = None
        return {name: "+".join(texts) for name, texts in settings.items()}

    @property
    def iodepth(self) -> int | None:
        """That of all its plans; None where they have several."""
        depths = {plan.iodepth for plan in self.plans}
        return depths.pop() if len(depths) == 1 else None

    @property
    def key(self) -> tuple[str, ...]:
        """What a later report of the same run says again."""
        return (self.host, self.name, self.group, self.pid)


@dataclass
class _Report:
    """What fio printed at one time: all its jobs, to the line of their groups."""

    run: int = 0
    """Which start of fio it is of: reports of one run have no banner between them."""
    jobs: list[_Job] = field(default_factory=list)
    keys: set[tuple[str, ...]] = field(default_factory=set)
    ended: bool = False
    has_one_plan: bool = False

    @property
    def ran_one_job(self) -> bool:
        """Whether one job ran; the report then puts its processes together."""
        return self.ended and self.has_one_plan and len(self.jobs) == 1

    @property
    def ran_s(self) -> float:
        """The longest that its jobs ran; of groups, which may wait for each other, the sum."""
        of_groups: dict[str, float] = {}
        for job in self.jobs:
            longest = max(job.ran_s.values(), default=0)
            of_groups[job.group] = max(of_groups.get(job.group, 0), longest)
        return sum(of_groups.values())

    def add(self, job: _Job) -> None:
        self.jobs.append(job)
        self.keys.add(job.key)


def _recognises(lines: list[str]) -> bool:
    return any(_JOB.match(line) or _PLAN.match(line) for line in lines if ": (g" in line)


@reads("fio-normal", "fio", _recognises)
def parse(lines: list[str], collector: Collector, beside: Beside = NOTHING_BESIDE) -> ParsedResult:
    """Read all jobs, named by what was done as far as the text or ``beside`` says it."""
    result = collector.result
    descriptions = described_jobs(lines, beside)
    reports = _final_reports(list(_reports(lines, descriptions, collector)), collector)
    if reports:
        message = "fio rounds the rates of this report to four digits; its JSON has all of them."
        collector.warn(reports[0].jobs[0].line, message, is_note=True)
    varying = varying_settings([(job.name, job.settings) for job in r.jobs] for r in reports)
    _name_by_identity(reports, descriptions, result)
    result.beside = beside_of(beside, {job.name for report in reports for job in report.jobs})
    several = len({job.name for report in reports for job in report.jobs}) > 1
    modes: dict[str, None] = {}
    for report in reports:
        collector.begin()
        _report(collector, report, varying)
        for job in report.jobs:
            modes |= dict.fromkeys(_modes(job, varying, several=several))
    result.modes = tuple(modes)
    if reports and not reports[-1].ended:
        message = 'The report ends before fio\'s "Run status group": it may be cut off.'
        collector.lose(len(lines), message)
    return collector.finish(
        "fio's report holds no result of a job: the run did not end.", len(lines)
    )


def _modes(job: _Job, varying: dict[str, set[str]], *, several: bool) -> Iterator[str]:
    """The settings of a job, with its name where several have some."""
    if job.options and job.identity is not None:
        of_job = f"{job.name}: " if several else ""
        yield from (f"{of_job}{setting}" for setting in settings_of(job.options))
        return
    if job.identity is not None:
        # What is not known of two jobs may differ: they are no repeats.
        yield f"name={job.name}"
    for plan in job.plans:
        is_named = several or len(job.plans) > 1 or job.is_one_of_several
        of_job = f"{plan.name}: " if is_named else ""
        for setting, text in _settings_of_plan(job, plan).items():
            if setting not in varying.get(job.name, ()):
                yield f"{of_job}{setting}={text}"


def _name_by_identity(
    reports: list[_Report], descriptions: list[Description], result: ParsedResult
) -> None:
    for report in reports:
        for job in report.jobs:
            job.options = options_above(descriptions, job.line, job.name)
            job.ran_alone = report.ran_one_job
    jobs = [job for report in reports for job in report.jobs]
    name_by_identity(result, [report.jobs for report in reports], _what_it_did)
    if unknown := [job for job in jobs if job.identity is None]:
        result.warnings.append(work_unsaid(unknown[0].line))
    if unknown := [job for job in jobs if job.identity and job.identity.direct is None]:
        result.warnings.append(cache_unsaid(unknown[0].line))


def _what_it_did(job: _Job) -> Identity | None:
    """Its identity, by its options or else by what fio printed before it began."""
    if job.host or len(job.plans) > 1:
        return None
    planned = _planned(job.plans[0], job.jobs) if job.plans else None
    found = identity.of_fio(job.options) if job.options else None
    if found is not None and _is_of(job, found, planned):
        return found
    job.options = None
    return planned if job.ran_alone else None


def _is_of(job: _Job, found: Identity, planned: Identity | None) -> bool:
    """Whether options are those of the job: a job file may be another's, or changed since."""
    if found.direction != identity.MIX and set(job.done_kb) != {found.direction}:
        return False
    as_planned = replace(found, direct=None, sync="", files=None, other=())
    return found.jobs == job.jobs and planned in (None, as_planned)


def _planned(plan: _Plan, jobs: int) -> Identity | None:
    """What a plan says, which is not all; None for mixes: it leaves out their shares."""
    settings = _settings(plan.text)
    way = _WAY.fullmatch(settings.get("rw", ""))
    blocks = set(re.split("[-/]", settings.get("bs", "")))  # fio 2 prints all six of them
    block = identity.size_bytes(blocks.pop().replace(".0", "")) if len(blocks) == 1 else None
    engine = settings.get("ioengine", "")
    if way is None or block is None or not engine or plan.iodepth is None:
        return None
    access = identity.RANDOM if way[1] else identity.SEQUENTIAL
    return Identity("fio", access, way[2], block, plan.iodepth, jobs, engine=engine.lower())


def _reports(
    lines: list[str], descriptions: list[Description], collector: Collector
) -> Iterator[_Report]:
    report = _Report()
    plans: _Plans = {}
    is_planned = True
    result = collector.result
    commands = {line for line, _ in descriptions}
    for number, line in enumerate(lines, start=1):
        if (head := _JOB.match(line)) is not None:
            job = _job_of(head, number)
            # A report has each process once.
            if report.ended or job.key in report.keys:
                yield from _with_plans(report, plans)
                report = _Report(report.run)
            is_planned = True
            report.add(job)
            when = _WHEN.search(head[6])
            if when is not None and when[2] and not result.facts:
                result.facts.append(("Run at", when[2]))
        elif (plan := _PLAN.match(line)) is not None:
            if is_planned and (report.ended or not plan[1]):
                # Of another run of fio.
                yield from _with_plans(report, plans)
                report, plans = _Report(report.run + 1), {}
            is_planned = False
            _add_plan(plans, plan)
        elif (
            (version := _VERSION.match(line)) is not None
            or _START.match(line)
            or number in commands
        ):
            if version is not None:
                result.tool_version = result.tool_version or version[2]
            is_planned = True
            yield from _with_plans(report, plans)
            report = _Report(report.run + 1)
        elif _END.match(line):
            report.ended = True
        elif report.jobs and not report.ended:
            _line(collector, report.jobs[-1], line, number)
    yield from _with_plans(report, plans)


def _add_plan(plans: _Plans, plan: re.Match[str]) -> None:
    host, name, group, text, depth = plan.groups()
    name = test_name(name)
    of_group = plans.setdefault((host or "", group), {})
    of_group.setdefault(name, []).append(_Plan(name, text, int(depth) if depth else None))


def _with_plans(report: _Report, plans: _Plans) -> Iterator[_Report]:
    """The report, if it has jobs, with the plans of each; a merged group has all of its plans."""
    all_plans = [plan for of in plans.values() for named in of.values() for plan in named]
    report.has_one_plan = len(all_plans) == 1
    for job in report.jobs:
        of_group = plans.get((job.host, job.group), {})
        beside = [
            other for other in report.jobs if (other.host, other.group) == (job.host, job.group)
        ]
        job.plans = _own_plans(job, beside, plans)
        if job.plans and len({other.name for other in beside}) == 1:
            others = [plan for name, of in of_group.items() if name != job.name for plan in of]
            job.plans += others if len(others) < job.jobs else []
    if report.jobs:
        yield report


def _own_plans(job: _Job, beside: list[_Job], plans: _Plans) -> list[_Plan]:
    """What was said of a job's name; of several jobs of that name each has its own."""
    of_groups = [plans.get((job.host, job.group), {})]
    of_groups += [of_group for (host, _), of_group in plans.items() if host == job.host]
    own = next((of_group[job.name] for of_group in of_groups if job.name in of_group), [])
    if len(set(own)) < 2:
        return own[:1]
    namesakes = [other for other in beside if other.name == job.name]
    if len(namesakes) == 1:
        return list(own)
    if len(namesakes) != len(own):  # and nobody says which of them are processes of one
        return []
    place = next(place for place, other in enumerate(namesakes) if other is job)
    job.is_one_of_several = True
    return [replace(own[place], name=f"{job.name}.{place + 1}" if place else job.name)]


def _job_of(head: re.Match[str], line: int) -> _Job:
    host, name, group, jobs, error, rest = head.groups()
    pid = _WHEN.search(rest)
    return _Job(
        name=test_name(name),
        host=host or "",
        group=group,
        jobs=int(jobs or 1),
        pid=pid[1] if pid else f"line {line}",
        at=_moment(pid[2]) if pid and pid[2] else None,
        line=line,
        error=error,
    )


def _moment(text: str) -> datetime | None:
    try:
        return dates.ctime(text)
    except ValueError:
        return None


def _line(collector: Collector, job: _Job, line: str, number: int) -> None:
    if (side := _SIDE.match(line)) is not None:
        job.side, job.percentiles = side[2], ("", "")
        if (done := _DONE.search(side[3])) is not None:
            job.done_kb[side[2]] = Decimal(done[1]) * prefixed(done[2], "K")
        if (ran := _RAN.search(side[3])) is not None:
            job.ran_s[side[2]] = int(ran[1][:12]) / 1000
        _rates(collector, job, side[3], number)
    elif (latency := _LATENCY.match(line)) is not None:
        kind = f"{job.side}_{latency[2]}" if latency[2] != "sync" else "sync_lat"
        if job.side or latency[2] == "sync":
            job.values.append(_Value(f"{kind}_mean", latency[4], latency[3], number))
    elif (title := _PERCENTILES.match(line)) is not None:
        kinds = {"clat": f"{job.side}_clat", "lat": f"{job.side}_lat", "sync": "sync_lat"}
        job.percentiles = (kinds.get(title[2], ""), title[3])
        if title[2] not in ("clat", "lat", "sync", "slat"):
            collector.warn(number, f'The percentiles of "{title[2][:60]}" are not read.')
    elif job.percentiles[0] and "th=[" in line:
        kind, unit = job.percentiles
        for percent, text in _PERCENTILE.findall(line):
            job.values.append(_Value(f"{kind}_p{plain_percent(percent)}", text, unit, number))


def _rates(collector: Collector, job: _Job, text: str, line: int) -> None:
    if (iops := _IOPS.search(text)) is not None:
        factor = prefixed(iops[2], "", 1000)
        job.values.append(_Value(f"{job.side}_iops", iops[1], "ops/s", line, factor))
    rates = [(n, sign, sign == "" or i == "i") for n, sign, i in _RATE.findall(text)]
    # fio 3 gives a rate in units of 1024 and of 1000; before there was one, of 1024.
    binary_rates = [rate for rate in rates if rate[2]] or (rates if text.startswith("io=") else [])
    if binary_rates:
        number, sign, _ = binary_rates[0]
        value = _Value(f"{job.side}_bw", number, "KB/s", line, prefixed(sign, "K"))
        job.values.insert(len(job.values) - (1 if iops else 0), value)
    else:
        collector.warn(line, f"{job.name}: no rate in bytes is there; it stays missing.")


def _final_reports(reports: list[_Report], collector: Collector) -> list[_Report]:
    """The reports without those of --status-interval, which the next one includes."""
    final_reports: list[_Report] = []
    for report in reports:
        report.jobs = [job for job in report.jobs if job.values or job.error != "0"]
        if not report.jobs:
            continue
        if final_reports and _goes_on(final_reports[-1], report):
            final_reports[-1] = report
            collector.warn(
                report.jobs[0].line,
                "fio reports the same run again: only what it said last is read.",
                is_note=True,
            )
        else:
            final_reports.append(report)
    return final_reports


def _goes_on(before: _Report, after: _Report) -> bool:
    """Whether the second report is of the same run, later: it has all that was done before.

    In containers every run has the same process numbers, so these do not tell.
    """
    jobs = {job.key: job for job in after.jobs}
    if before.run != after.run or not {job.key for job in before.jobs} <= jobs.keys():
        return False
    for job in before.jobs:
        later = jobs[job.key]
        for count, later_count in ((job.done_kb, later.done_kb), (job.ran_s, later.ran_s)):
            if any(later_count.get(side, 0) < amount for side, amount in count.items()):
                return False
    moments = [job.at for job in (before.jobs[-1], after.jobs[-1]) if job.at is not None]
    if len(moments) == 2:
        # What began after the report before is another run; the dates are whole seconds.
        between_s = (moments[1] - moments[0]).total_seconds()
        if abs(between_s - after.ran_s) > 1:
            return 0 <= between_s < after.ran_s
    return after.ran_s >= _LEAST_GROWTH * before.ran_s


def _settings(plan: str) -> dict[str, str]:
    """``rw``, ``bs`` and ``ioengine`` of a job's plan, as fio prints them."""
    settings = {}
    for name, text in _SETTING.findall(plan):
        blocks = _BLOCKS.match(f"{name}={text}")
        sizes = set(blocks.groups()) if blocks is not None else set()
        settings[name] = (sizes.pop() if len(sizes) == 1 else text)[:200]
    return settings


def _settings_of_plan(job: _Job, plan: _Plan) -> dict[str, str]:
    """Its depth is the job's load, unless others of the same report have other ones."""
    depth = {"iodepth": str(plan.iodepth)} if job.iodepth is None and plan.iodepth else {}
    return _settings(plan.text) | depth


def _report(collector: Collector, report: _Report, varying: dict[str, set[str]]) -> None:
    names: Counter[str] = Counter()
    hosts = {job.host for job in report.jobs if job.host}
    at_once: Counter[tuple[str, str, str, str]] = Counter()
    for job in report.jobs:
        at_once[_processes_of(job)] += job.jobs
    for job in report.jobs:
        name = test_name(f"{job.name}.{job.host}") if len(hosts) > 1 and job.host else job.name
        names[name] += 1
        numbered = name if names[name] == 1 else f"{name}.{names[name]}"
        settings = job.settings
        suffix = [f"{key}_{settings.get(key, '')}" for key in sorted(varying.get(job.name, ()))]
        test = test_name(numbered, *suffix)
        if job.identity is not None:
            test = job.identity.stem
        if job.error != "0":
            collector.lose(job.line, f"fio says that {job.name} ended with error {job.error}.")
        if len(job.plans) > 1:
            collector.warn(job.line, several_jobs(job.name, [plan.name for plan in job.plans]))
        collector.load = load_text(iodepth=job.iodepth, jobs=at_once[_processes_of(job)])
        if job.identity is not None:
            collector.load = job.identity.load
        _values(collector, test, job)


def _processes_of(job: _Job) -> tuple[str, str, str, str]:
    return job.host, job.name, job.group, job.plans[0].name if job.is_one_of_several else ""


def _values(collector: Collector, test: str, job: _Job) -> None:
    unit = time_unit(collector.result.tool_version)
    seen: set[str] = set()
    for value in job.values:
        if value.kind in seen:
            message = f"{test}_{value.kind} is given twice for one job; the first is kept."
            collector.warn(value.line, message)
            continue
        seen.add(value.kind)
        value_unit, times = value.unit, value.times
        if value_unit.endswith("sec"):
            value_unit = unit
            times = (_MICROSECONDS if unit == "µs" else _NANOSECONDS)[value.unit]
        test_kind = f"{test}_{value.kind}"
        collector.add(test_kind, value.text, value_unit, value.line, times=times)
