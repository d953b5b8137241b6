"""What dd of GNU coreutils says when it is done: bytes and seconds.

dd rounds the rate that it prints to three digits, and prints the bytes and the time: both are
kept as they are, the rate as printed. Its units are of 1000 (MB, kB), bytes where it says bytes.
Source: GNU coreutils' manual ("dd invocation"), and output of 9.1.
"""

import re
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, reads

_N = r"([0-9]+(?:[.,][0-9]+)?(?:e[+-]?[0-9]{1,3})?)"
_WORD = r"[^\W\d]"
# Bytes, seconds and rate stand in this order in all languages, with words of each around them.
_DONE = re.compile(
    rf"^\s{{0,9}}(?:{_WORD}{{1,30}} )?([0-9]{{1,30}}) ?{_WORD}{{1,20}} ?(?:\([^()]{{1,60}}\))?"
    rf" ?(?:{_WORD}{{1,30}}[. ]?)?, ?{_N} ?{_WORD}{{1,15}}\.?, ?{_N} ([kKMGT]?B)/{_WORD}\s*$"
)
_COMMAND = re.compile(r"(?:^|[$#>] ?|\bsudo )(dd (?:\S{1,200} ){0,30}?(?:if|of)=.*\S)")
_RECORDS = re.compile(
    rf"^[^\d+]{{0,20}}([0-9]{{1,20}})\+([0-9]{{1,20}}) (?:{_WORD}{{1,30}} ?){{1,3}}\s*$"
)
_FULL_WIDTH = str.maketrans("，、（）", ",,()")
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


def _recognises(lines: list[str]) -> bool:
    """Whether a line is dd's last, below its records."""
    return any(
        _summary(lines, index) is not None for index, line in enumerate(lines) if "B/" in line
    )


@reads("dd", "dd", _recognises)
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Rate and time of each copy. Raises UnreadableFile for copies that no one can tell apart."""
    result = collector.result
    command = ""
    copies: dict[str, tuple[int, str, tuple[str, ...]]] = {}
    for number, line in enumerate(lines, start=1):
        if (match := _COMMAND.search(line)) is not None:
            command = match[1]
        elif _ERROR.match(line):
            collector.lose(number, f"dd says: {line.strip()[:200]}")
        elif (summary := _summary(lines, number - 1)) is not None:
            parts = [f"{summary[1]} bytes"]
            records = _RECORDS.match(lines[number - 2])
            # Blocks that came in pieces are counted otherwise each time.
            parts += [f"{records[1]} blocks"] if records and int(records[2]) == 0 else []
            settings = (*sorted(_SETTING.findall(command)), *parts)
            name = _direction(command)
            first, first_command, first_settings = copies.setdefault(
                name, (number, command, settings)
            )
            if first != number and not (command and first_command and settings == first_settings):
                collector.refuse(
                    number,
                    f"Another copy of dd than that of line {first} ends here, and no command says "
                    "that both are the same. Make each a file of its own, or put its command "
                    "above it.",
                )
            result.command = result.command or command[:2000]
            result.modes = tuple(dict.fromkeys((*result.modes, *settings)))
            collector.begin()
            collector.add(
                f"{name}_throughput", summary[3], "MB/s", number, times=_FACTORS[summary[4]]
            )
            collector.add(f"{name}_time", summary[2], "s", number)
            command = ""
    return collector.finish("dd copied nothing.", len(lines))


def _summary(lines: list[str], index: int) -> re.Match[str] | None:
    """dd's last line. Progress looks the same, and has no records above it."""
    if index < 2 or not all(map(_RECORDS.match, lines[index - 2 : index])):
        return None
    return _DONE.match(lines[index].translate(_FULL_WIDTH))


def _direction(command: str) -> str:
    """What a copy is called: a file is written, or read, or both."""
    is_made_up = re.search(r"(?<!\S)if=/dev/(?:zero|u?random|full)(?!\S)", command) is not None
    is_dropped = re.search(r"(?<!\S)of=/dev/null(?!\S)", command) is not None
    if is_made_up and not is_dropped:
        return "dd_write"
    return "dd_read" if is_dropped and not is_made_up else "dd"
