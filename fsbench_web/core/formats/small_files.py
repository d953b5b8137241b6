"""Benchmarks of many small files: PostMark, fs_mark and fsbench's own filemark.

PostMark 1.5x scales rates of data to bytes, kilobytes or megabytes (of 1024) to its taste, so they
are kept in KB/s. Its other rates are whole numbers of operations a second, its times whole seconds.
Source: the report itself, of PostMark 1.51, and the description of TR3022 (Katcher, 1997).

fs_mark 3 prints files/s of each iteration, its overhead, and times of calls (-v). Source: its
README, and output of 3.3. The agent runs filemark (runner/agent/workloads/filemark.py).
"""

import re

from fsbench_web.core.formats.json_text import JsonList, Number, documents
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import cut_off
from fsbench_web.core.formats.values import (
    Collector,
    any_line,
    number,
    prefixed,
    reads,
    settings_of_command,
    test_name,
)

# PostMark
_POSTMARK_VERSION = re.compile(r"^\W*PostMark v?([0-9][0-9.]*)")
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
_SETTINGS = re.compile(r"(?:^|pm>)Current configuration is:")
_POSTMARK_SETTING = re.compile(
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
        if _POSTMARK_VERSION.match(line) or _SETTINGS.search(line):
            self._settings, self._weights = [], []
            self._said = {} if _SETTINGS.search(line) else dict(self._said_last)
        elif (said := _SET.match(line)) is not None:
            self._said[said[1]] = self._said_last[said[1]] = " ".join(said[2].split())[:200]
        elif (setting := _POSTMARK_SETTING.match(line)) is not None:
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


@reads("postmark", "postmark", any_line(_POSTMARK_VERSION.match, _DATA.match))
def parse_postmark(lines: list[str], collector: Collector) -> ParsedResult:
    """All rates and times of the report. Raises UnreadableFile where there is no report."""
    result = collector.result
    phase = "creation"
    reports = ended = 0
    configuration = _Configuration()
    for line_number, line in enumerate(lines, start=1):
        configuration.read(line)
        if (version := _POSTMARK_VERSION.match(line)) is not None:
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
            times = prefixed(data[5], "K")
            collector.add(f"postmark_data_{data[3]}", data[4], "KB/s", line_number, times=times)
    if ended < reports:
        collector.lose(len(lines), "The report ends before PostMark's did: the rest is missing.")
    return collector.finish(
        "PostMark's title is there, but no report in words: the run did not end, or its report "
        "was set to be terse.",
        1,
    )


# fs_mark
_FS_MARK_VERSION = re.compile(r"^#\s*Version ([0-9][0-9.]*), ([0-9]{1,9}) thread\(s\)")
_COMMAND = re.compile(r"^#\s+(\S*fs_mark\s.*)$")
_FS_MARK_SETTING = re.compile(r"^#\s*(Sync method: [A-Z0-9 ,/]+|Files info: size [0-9]+ bytes.*)")
_MAY_DIFFER = ("-d", "-l", "-t", "-v")
"""Folders, the log, and threads, which are the load. Loops (-L) fill the file system: another
number of them is another workload, and so are as many calls (fs_mark's README).
"""
_TITLE = re.compile(
    r"^FSUse%\s+Count\s+Size\s+Files/sec\s+App Overhead((?:\s+[A-Z]+ \(Min/Avg/Max\))*)\s*$"
)
_KINDS = ("min", "avg", "max")
_ROW = re.compile(
    r"^\s*[0-9]{1,3}\s+[0-9]+\s+[0-9]+\s+([0-9.]+(?:e[+-]?[0-9]+)?)\s+([0-9]+)((?:\s+[0-9]+)*)\s*$"
)


@reads("fs_mark", "fs_mark", any_line(_TITLE.match))
def parse_fs_mark(lines: list[str], collector: Collector) -> ParsedResult:
    """All iterations. Raises UnreadableFile where none ended."""
    result = collector.result
    threads: int | None = None
    in_table = False
    calls: list[str] = []
    settings: tuple[str, ...] = ()
    for line_number, line in enumerate(lines, start=1):
        if (version := _FS_MARK_VERSION.match(line)) is not None:
            result.tool_version, threads = version[1], int(version[2])
            in_table = False
        elif (setting := _FS_MARK_SETTING.match(line)) is not None:
            settings = (*settings, setting[1].strip(" :")[:200])
        elif (command := _COMMAND.match(line)) is not None:
            result.command = result.command or " ".join(command[1].split())[:2000]
            settings = settings_of_command(command[1], _MAY_DIFFER)
        elif (title := _TITLE.match(line)) is not None:
            in_table, calls = True, re.findall("(?<![A-Z])[A-Z]++(?= )", title[1])
        elif in_table and (row := _ROW.match(line)) is not None:
            collector.begin(settings)
            collector.load = load_text(threads=threads)
            collector.add("fs_mark_files", row[1], "files/s", line_number)
            words = [row[2], *row[3].split()]
            if line_number == len(lines):
                collector.warn(line_number, cut_off(words.pop()))
            elif len(words) != 1 + 3 * len(calls):
                message = f"The row has {len(words) + 4} fields of {5 + 3 * len(calls)}."
                collector.warn(line_number, message)
            if words:
                collector.add("fs_mark_app_overhead", words[0], "µs", line_number)
            for place, call in enumerate(calls):
                times = words[1 + 3 * place : 4 + 3 * place]
                # 0 0 0 is a call that was not made.
                for kind, text in zip(_KINDS, times if {*times} != {"0"} else (), strict=False):
                    test = test_name("fs_mark", call, kind)
                    collector.add(test, text, "µs", line_number)
    return collector.finish("fs_mark's table is there, and no row in it: the run did not end.", 1)


# filemark
_MARK = re.compile(r'^\s*"filemark"\s*:\s*"report"')
_START = re.compile(r"\{|$")


def _is_filemark(lines: list[str]) -> bool:
    """Whether a line says that this is filemark's report; its phases are no results alone."""
    return any(_MARK.match(line) for line in lines[:10])


@reads("filemark", "filemark", _is_filemark)
def parse_filemark(lines: list[str], collector: Collector) -> ParsedResult:
    """Read transactions/s, with those of each phase as samples, and files created/s."""
    result = collector.result
    root = next(documents(lines, _START))
    threads = root.number("threads")
    collector.load = load_text(threads=int(number(threads.text) or 0) or None if threads else None)
    if (files := root.number("files")) is not None:
        result.modes = (f"files {files.text}",)
    samples = root.get("samples")
    rates = (
        [number(sample.text) or 0.0 for sample in samples or () if isinstance(sample, Number)]
        if isinstance(samples, JsonList)
        else []
    )
    for test, key, unit in (
        ("filemark_transactions", "transactions_per_s", "ops/s"),
        ("filemark_creation", "creation_files_per_s", "files/s"),
    ):
        if (rate := root.number(key)) is not None:
            test_samples = rates if key == "transactions_per_s" else []
            collector.add(test, rate.text, unit, rate.line, samples=test_samples)
    if root.get("is_sure") is False:
        width = root.number("half_width_percent")
        collector.warn(
            width.line if width else None,
            "The phases were not sure enough when the last one had been run: the half-width of "
            f"their 95% interval is {width.text + '% of the mean' if width else 'not known'}.",
            is_note=True,
        )
    return collector.finish("This is filemark's report, and no phase was measured.")
