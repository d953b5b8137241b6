"""DiskSpd, and CrystalDiskMark, which runs it.

DiskSpd (``-Rtext``, and DiskSpd for Linux) prints totals of all, read and written I/O. Rates of
data are MiB/s; versions before 2.0.18, and that for Linux, write MB/s and mean the same. Latencies
are ms. Source: DiskSpd's README ("use iB notation to clarify that text result output is in 2^n
units"), and output of 2.0.21 and of that for Linux.

CrystalDiskMark 7 and 8 copy and save a text. MB are 1,000,000 bytes, as its head says; latencies
are microseconds. Q is the queue of each thread. Source: its text of 8.0.1.
"""

import re
from dataclasses import dataclass, field

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, any_line, every_sign, reads, test_name

# DiskSpd
_COMMAND = re.compile(r"^\s*Command Line: (.*\S)")
_SECTION = re.compile(r"^\s*(Total|Read|Write) IO\s*$")
_HEADER = re.compile(r"^\s*thread \|\s+bytes\s+\|\s+I/Os")
_TOTAL = re.compile(r"^\s*total:\s+([0-9].*)$")
_PERCENTILES = re.compile(r"^\s*%-ile \|\s+Read \(ms\) \| Write \(ms\) \| Total \(ms\)")
_PERCENTILE = re.compile(r"^\s*(?:([0-9]{1,2})(?:th|nd|rd|st)|([3-9])-nines|(min|max)) \|(.+)$")
_COLUMNS = {
    "MiB/s": ("throughput", "MiB/s"),
    "MB/s": ("throughput", "MiB/s"),
    "I/O per s": ("iops", "ops/s"),
    "AvgLat": ("latency_avg", "ms"),
    "AvgLat(ms)": ("latency_avg", "ms"),
}
_THREADS = re.compile(r"^\s*(?:total threads|thread count):\s+([0-9]{1,9})\s*$")
_DEPTH = re.compile(r"^\s*number of outstanding I/O operations(?: per thread)?: ([0-9]{1,9})")
_START = re.compile(r"^Input parameters:\s*$")
_DATE = re.compile(r"^\s*start time: (\S.{8,40}\S)\s*$")
_SETTING = re.compile(
    r"^\s++(duration|warm up time|size|block size|(?:using )?(?:random|sequential|interlocked).*|"
    r"performing .*|.*cache.*|.*writethrough.*|think time|burst size|(?:thread )?stride size|"
    r"threads per file|number of outstanding I/O operations|using .*|file size)(:? .*)?$"
)
_SPAN = re.compile(r"^\s*(?:timespan|job):\s+([0-9]+)\s*$")
_NOT_SETTINGS = re.compile(r"using (?:completion|I/O Completion|Overlapped)|random seed")


@dataclass
class _Run:
    line: int
    command: str = ""
    settings: list[str] = field(default_factory=list)
    counts: dict[str, int | None] = field(default_factory=dict)
    # Name, text, unit, line.
    values: list[tuple[str, str, str, int]] = field(default_factory=list)
    section: str = ""
    columns: list[str] = field(default_factory=list)
    is_percentiles: bool = False


@reads("diskspd", "diskspd", any_line(_HEADER.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    result = collector.result
    runs = _runs(lines, collector)
    for run in runs:
        if run.command and not run.values:
            collector.lose(run.line, "This run of DiskSpd did not end: it has no totals.")
    runs = [run for run in runs if run.values]
    for run in runs:
        collector.refuse_other_settings(run.line, (run.settings, run.counts))
        collector.begin()
        collector.load = load_text(**run.counts)
        for name, text, unit, line in run.values:
            collector.add(test_name("diskspd", name), text, unit, line)
    if runs:
        result.modes = tuple(dict.fromkeys(runs[0].settings))
        result.command = runs[0].command[:2000]
    return collector.finish("DiskSpd's table has no total: the run did not end.", len(lines))


def _runs(lines: list[str], collector: Collector) -> list[_Run]:
    runs = [_Run(1)]
    facts = collector.result.facts
    for number, line in enumerate(lines, start=1):
        if (command := _COMMAND.match(line)) is not None:
            runs.append(_Run(number, command[1]))
        elif _START.match(line) and runs[-1].values:
            runs.append(_Run(number))
        elif not facts and (date := _DATE.match(line)) is not None:
            facts.append(("Run at", date[1]))
        elif (span := _SPAN.match(line)) is not None and int(span[1]) > 1:
            message = f"Time span {span[1]} starts here: make each time span a run of its own."
            collector.refuse(number, message)
        elif number < len(lines):
            # What follows the last newline may be cut off.
            _line(runs[-1], line, number)
    return runs


def _line(run: _Run, line: str, number: int) -> None:
    if (section := _SECTION.match(line)) is not None:
        run.section, run.columns = section[1].lower(), []
    elif _HEADER.match(line):
        run.columns = [column.strip() for column in line.split("|")][1:]
    elif run.columns and (total := _TOTAL.match(line)) is not None:
        for column, text in zip(run.columns, _cells(total[1]), strict=False):
            # A section without I/O has zeros.
            if column in _COLUMNS and re.search("[1-9]", text):
                name, unit = _COLUMNS[column]
                run.values.append((f"{run.section}_{name}", text, unit, number))
        run.columns = []
    elif _PERCENTILES.match(line):
        run.is_percentiles = True
    elif run.is_percentiles and (row := _PERCENTILE.match(line)) is not None:
        percent = row[1] or (row[2] and "99." + "9" * (int(row[2]) - 2))
        name = f"p{percent}" if percent else row[3]
        for kind, text in zip(("read", "write", "total"), _cells(row[4]), strict=False):
            if re.fullmatch(r"[0-9]+\.[0-9]+", text):
                run.values.append((f"{kind}_latency_{name}", text, "ms", number))
    else:
        _setting(run, line)


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.split("|")]


def _setting(run: _Run, line: str) -> None:
    if (threads := _THREADS.match(line)) is not None:
        run.counts["threads"] = int(threads[1])
    elif (depth := _DEPTH.match(line)) is not None:
        run.counts["iodepth"] = int(depth[1])
    elif not run.values and _SETTING.match(line) and not _NOT_SETTINGS.search(line):
        run.settings.append(line.strip()[:200])


# CrystalDiskMark
_TITLE = re.compile(r"^\W*CrystalDiskMark ([0-9][0-9A-Za-z.]*)")
_CRYSTAL_SECTION = re.compile(r"^\s*\[(Read|Write|Mix)\b.*\]\s*$")
_N = r"([0-9]+(?:\.[0-9]+)?)"
_ROW = re.compile(
    rf"^\s*(SEQ|RND|Sequential|Random)\s+([0-9]{{1,6}})([KM]iB) \(Q=\s*([0-9]{{1,6}}), "
    rf"T=\s*([0-9]{{1,6}})\):\s+{_N} MB/s(?: \[\s*{_N} IOPS\])?(?: <\s*{_N} us>)?\s*$"
)
_CRYSTAL_SETTING = re.compile(
    r"^\s*(Profile|Test|Mode|Time): (.+?)(?:(?<!\s)\s+\[[A-Z]: [^\[]*\])?(?<!\s)\s*$"
)
_CRYSTAL_DATE = re.compile(r"^\s*Date: (\S.{0,60}\S)\s*$")
_PATTERNS = {"SEQ": "seq", "Sequential": "seq", "RND": "rnd", "Random": "rnd"}


@reads("crystaldiskmark", "crystaldiskmark", every_sign(_TITLE.match, _CRYSTAL_SECTION.match))
def parse_crystaldiskmark(lines: list[str], collector: Collector) -> ParsedResult:
    result = collector.result
    section = ""
    settings: dict[str, None] = {}
    title = 1
    for number, line in enumerate(lines, start=1):
        if (head := _TITLE.match(line)) is not None:
            result.tool_version = result.tool_version or head[1]
            section, title, settings = "", number, {}
            collector.begin()
        elif (part := _CRYSTAL_SECTION.match(line)) is not None:
            section = part[1].lower()
        elif section and (row := _ROW.match(line)) is not None:
            _row(collector, row, section, number)
        elif (setting := _CRYSTAL_SETTING.match(line)) is not None:
            settings[f"{setting[1]} {setting[2]}"[:200]] = None
            collector.made_with(settings)
        elif (date := _CRYSTAL_DATE.match(line)) is not None and not result.facts:
            result.facts.append(("Run at", date[1]))
    if not settings:
        collector.lose(
            len(lines), "The text ends before CrystalDiskMark's profile: it may be cut off."
        )
    return collector.finish(
        "No row of this text is as CrystalDiskMark 7 and 8 write them; older ones are not read.",
        title,
    )


def _row(collector: Collector, row: re.Match[str], section: str, line: int) -> None:
    pattern, size, unit, queue, threads, rate, iops, latency = row.groups()
    name = ("crystaldiskmark", _PATTERNS[pattern], f"{size}{unit}", section)
    collector.load = load_text(iodepth=int(queue), threads=int(threads))
    for kind, text, unit_of in (
        ("throughput", rate, "MB/s"),
        ("iops", iops, "ops/s"),
        ("latency", latency, "µs"),
    ):
        if text:
            collector.add(test_name(*name, kind), text, unit_of, line)
