"""What dd of GNU coreutils says when it is done: bytes and seconds.

dd rounds the rate that it prints to three digits, and prints the bytes and the time: both are
kept as they are, the rate as printed. Its units are of 1000 (MB, kB), bytes where it says bytes.
Source: GNU coreutils' manual ("dd invocation"), and output of 9.1.
"""

import re
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector

FORMAT = "dd"
_N = r"([0-9]+(?:[.,][0-9]+)?(?:e[+-]?[0-9]{1,3})?)"
_DONE = re.compile(
    rf"^([0-9]+) bytes(?: \([^()]{{1,60}}\))? copied, {_N} s(?:econds)?, {_N} ([kKMGT]?B)/s\s*$"
)
_COMMAND = re.compile(r"(?:^|[$#>] ?|\bsudo )(dd (?:\S{1,200} ){0,30}?(?:if|of)=.*\S)")
_RECORDS = re.compile(r"^[0-9]+\+[0-9]+ records (?:in|out)\s*$")
_WHOLE = re.compile(r"^([0-9]+)\+0 records out")
_ERROR = re.compile(r"^dd: (?:error|failed|writing|reading|cannot)\b.*")
_FACTORS: dict[str, Decimal | int] = {
    "B": Decimal("0.000001"),
    "kB": Decimal("0.001"),
    "KB": Decimal("0.001"),
    "MB": 1,
    "GB": 1000,
    "TB": 10**6,
}
_SETTING = re.compile(
    r"(?<!\S)(?:bs|ibs|obs|cbs|count|conv|iflag|oflag|skip|seek|iseek|oseek)=\S+|"
    r"(?<!\S)[io]f=/dev/(?:zero|null|u?random|full)(?!\S)"
)
"""What tells two copies apart: blocks, how they are written, and where nothing is read or written.
Paths may differ.
"""


def recognises(lines: list[str]) -> bool:
    """Whether a line is dd's last, below its records."""
    return any(_DONE.match(line) for line in lines) and any(map(_RECORDS.match, lines))


def parse(lines: list[str]) -> ParsedResult:
    """Rate and time of the copy. Raises UnreadableFile for copies that no one can tell apart."""
    result = ParsedResult(FORMAT, "dd")
    collector = Collector(result)
    command, first, records = "", None, 0
    for number, line in enumerate(lines, start=1):
        if (match := _COMMAND.search(line)) is not None:
            command = match[1]
        elif _ERROR.match(line):
            result.complete = False
            collector.warn(number, f"dd says: {line.strip()[:200]}")
        elif _RECORDS.match(line):
            records = number
        # Progress looks the same, and has no records above it.
        elif (summary := _DONE.match(line)) is not None and records == number - 1:
            parts = [f"{summary[1]} bytes"]
            # Blocks that came in pieces are counted otherwise each time.
            parts += [f"{blocks[1]} blocks"] if (blocks := _WHOLE.match(lines[number - 2])) else []
            settings = (*sorted(_SETTING.findall(command)), *parts)
            if first is None:
                first, result.modes, result.command = number, settings, command[:2000]
            elif not command or not result.command or settings != result.modes:
                collector.refuse(
                    number,
                    f"Another copy of dd than that of line {first} ends here, and no command says "
                    "that both are the same: make each a file of its own, or put its command "
                    "above it.",
                )
            command = ""
            _copy(collector, summary, number)
    return collector.finish("dd copied nothing.", len(lines))


def _copy(collector: Collector, summary: re.Match[str], line: int) -> None:
    collector.begin()
    collector.add("dd_throughput", summary[3], "MB/s", line, times=_FACTORS[summary[4]])
    collector.add("dd_time", summary[2], "s", line)
