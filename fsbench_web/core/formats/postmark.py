"""The report of PostMark 1.5x, of one run or several.

PostMark scales rates of data to bytes, kilobytes or megabytes (of 1024) to its taste, so they are
kept in KB/s. Its other rates are whole numbers of operations a second, its times whole seconds.
Source: the report itself, of PostMark 1.51, and the description of TR3022 (Katcher, 1997).
"""

import re
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, any_line, reads

_VERSION = re.compile(r"^\W*PostMark v?([0-9][0-9.]*)")
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_TIME = re.compile(rf"^\s*{_NUMBER} seconds (total|of transactions)(?: \({_NUMBER} per second\))?")
_COUNT = re.compile(
    rf"^\s*(?:(Creation alone|Deletion alone|Mixed with transactions): )?{_NUMBER} "
    rf"(created|read|appended|deleted|files) \({_NUMBER} per second\)"
)
_DATA = re.compile(
    rf"^\s*{_NUMBER} (?:(kilo|mega|giga)?bytes) (read|written) "
    rf"\({_NUMBER} (?:(kilo|mega|giga)?bytes) per second\)"
)
_KILOBYTES: dict[str | None, Decimal | int] = {
    None: Decimal(1) / 1024,
    "kilo": 1,
    "mega": 1024,
    "giga": 1024 * 1024,
}
_SETTINGS = re.compile(r"(?:^|pm>)Current configuration is:")
_SETTING = re.compile(
    r"^(The base number of files is .*|Transactions: .*|Files range .*|"
    r"Block sizes are: .*|Biases are: .*|Using .*buffered file I/O|"
    r"[0-9]+ subdirectories will be used.*)$"
)
"""What "show" prints and is no path and no seed."""
_SET = re.compile(
    r"^(?:\s*pm>)*\s*set (size|number|transactions|subdirectories|read|write|buffering|bias)"
    r" +(\S.*)$"
)
"""A setting as a command, which PostMark does not print: no path, no seed, no form of the report.
"""
_LOCATION = re.compile(r"^\s+\S.* \(weight=([0-9]+)\)$")


class _Configuration:
    """What "show" printed last, or "set" said since, of the PostMark that was started last."""

    def __init__(self) -> None:
        self._settings: list[str] = []
        self._weights: list[str] = []
        self._said: dict[str, str] = {}
        # Since the last report: a file of commands may stand above the title of its PostMark.
        self._said_last: dict[str, str] = {}

    def read(self, line: str) -> None:
        if _VERSION.match(line) or _SETTINGS.search(line):
            self._settings, self._weights = [], []
            self._said = {} if _SETTINGS.search(line) else dict(self._said_last)
        elif (said := _SET.match(line)) is not None:
            self._said[said[1]] = self._said_last[said[1]] = " ".join(said[2].split())[:200]
        elif (setting := _SETTING.match(line)) is not None:
            self._settings.append(setting[1].strip())
        elif (location := _LOCATION.match(line)) is not None:
            self._weights.append(location[1])

    def settings(self) -> list[str]:
        """All but paths and the seed; several locations by their weights. A report ends here."""
        self._said_last = {}
        said = [f"set {name} {text}" for name, text in sorted(self._said.items())]
        if len(self._weights) < 2:
            return [*self._settings, *said]
        return [*self._settings, *said, f"Locations of weight {', '.join(self._weights)}"]


@reads("postmark", "postmark", any_line(_VERSION.match, _DATA.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All rates and times of the report. Raises UnreadableFile where there is no report."""
    result = collector.result
    phase = "creation"
    reports = ended = 0
    configuration = _Configuration()
    for line_number, line in enumerate(lines, start=1):
        configuration.read(line)
        if (version := _VERSION.match(line)) is not None:
            result.tool_version = result.tool_version or version[1]
        elif (time := _TIME.match(line)) is not None:
            if time[2] == "total":
                reports += 1
                collector.begin(configuration.settings())
            name = "total_time" if time[2] == "total" else "transactions_time"
            collector.add(f"postmark_{name}", time[1], "s", line_number)
            if time[3]:
                collector.add("postmark_transactions", time[3], "ops/s", line_number)
        elif (count := _COUNT.match(line)) is not None:
            action = count[3]
            if action in ("created", "deleted"):
                phase = {"created": "creation", "deleted": "deletion"}[action]
            suffix = {None: "", "Mixed with transactions": f"_{phase}_mixed"}.get(
                count[1], f"_{phase}_alone"
            )
            test = f"postmark{suffix}" if suffix else f"postmark_{action}"
            collector.add(test, count[4], "ops/s", line_number)
        elif (data := _DATA.match(line)) is not None:
            ended += data[3] == "written"
            times = _KILOBYTES[data[5]]
            collector.add(f"postmark_data_{data[3]}", data[4], "KB/s", line_number, times=times)
    if ended < reports:
        collector.lose(len(lines), "The report ends before PostMark's did: the rest is missing.")
    return collector.finish(
        "PostMark's title is there, but no report in words: the run did not end, or its report "
        "was set to be terse.",
        1,
    )
