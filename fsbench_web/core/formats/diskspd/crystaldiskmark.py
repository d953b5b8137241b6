"""The text that CrystalDiskMark 7 and 8 copies and saves.

MB are 1,000,000 bytes, as its head says; latencies are microseconds. Q is the queue of each
thread. Source: its text of 8.0.1.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, reads, test_name

_TITLE = re.compile(r"^\W*CrystalDiskMark ([0-9][0-9A-Za-z.]*)")
_SECTION = re.compile(r"^\s*\[(Read|Write|Mix)\b.*\]\s*$")
_N = r"([0-9]+(?:\.[0-9]+)?)"
_ROW = re.compile(
    rf"^\s*(SEQ|RND|Sequential|Random)\s+([0-9]{{1,6}})([KM]iB) \(Q=\s*([0-9]{{1,6}}), "
    rf"T=\s*([0-9]{{1,6}})\):\s+{_N} MB/s(?: \[\s*{_N} IOPS\])?(?: <\s*{_N} us>)?\s*$"
)
_SETTING = re.compile(
    r"^\s*(Profile|Test|Mode|Time): (.+?)(?:(?<!\s)\s+\[[A-Z]: [^\[]*\])?(?<!\s)\s*$"
)
_DATE = re.compile(r"^\s*Date: (\S.{0,60}\S)\s*$")
_PATTERNS = {"SEQ": "seq", "Sequential": "seq", "RND": "rnd", "Random": "rnd"}


def _recognises(lines: list[str]) -> bool:
    """Whether its title and a section are there."""
    return any(_TITLE.match(line) for line in lines) and any(map(_SECTION.match, lines))


@reads("crystaldiskmark", "crystaldiskmark", _recognises)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Read all rows of versions 7 and 8."""
    result = collector.result
    section = ""
    settings: dict[str, None] = {}
    title = 1
    for number, line in enumerate(lines, start=1):
        if (head := _TITLE.match(line)) is not None:
            result.tool_version = result.tool_version or head[1]
            section, title, settings = "", number, {}
            collector.begin()
        elif (part := _SECTION.match(line)) is not None:
            section = part[1].lower()
        elif section and (row := _ROW.match(line)) is not None:
            _row(collector, row, section, number)
        elif (setting := _SETTING.match(line)) is not None:
            settings[f"{setting[1]} {setting[2]}"[:200]] = None
            collector.made_with(settings)
        elif (date := _DATE.match(line)) is not None and not result.facts:
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
    load = load_text(iodepth=int(queue), threads=int(threads))
    for kind, text, unit_of in (
        ("throughput", rate, "MB/s"),
        ("iops", iops, "ops/s"),
        ("latency", latency, "µs"),
    ):
        if text:
            collector.add(test_name(*name, kind), text, unit_of, line, load=load)
