"""Commands that say a rate in a few lines: dd, hdparm, ioping and compilebench.

dd of GNU coreutils rounds the rate that it prints to three digits, and prints the bytes and the
time: both are kept as they are, the rate as printed. Its units are of 1000 (MB, kB), bytes where
it says bytes. Source: GNU coreutils' manual ("dd invocation"), and output of 9.1.

``hdparm -t`` and ``-T`` read a device, and its cache. Their MB are 1024 * 1024 bytes. Source:
hdparm's manual and its ``time_device``, and output of 9.65.

ioping 0.4 to 1.3 prints statistics at its end. Times are converted to µs, rates to MiB/s and
operations/s, exactly. Source: ioping's manual ("rates: k and so on are of 1000, KiB of 1024"), and
output of 0.6 and 1.3.

compilebench 0.6 prints means of all runs of an operation. Its MB are 1024 * 1024 bytes. Source: its
script (``print_stat``), and its output.
"""

import re
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, any_line, prefixed, reads, test_name

# dd
_DD_N = r"([0-9]+(?:[.,][0-9]+)?(?:e[+-]?[0-9]{1,3})?)"
_WORD = r"[^\W\d]"
# Bytes, seconds and rate stand in this order in all languages, with words of each around them.
_DD_DONE = re.compile(
    rf"^\s{{0,9}}(?:{_WORD}{{1,30}} )?([0-9]{{1,30}}) ?{_WORD}{{1,20}} ?(?:\([^()]{{1,60}}\))?"
    rf" ?(?:{_WORD}{{1,30}}[. ]?)?, ?{_DD_N} ?{_WORD}{{1,15}}\.?, ?{_DD_N} ([kKMGT]?B)/{_WORD}\s*$"
)
_COMMAND = re.compile(r"(?:^|[$#>] ?|\bsudo )(dd (?:\S{1,200} ){0,30}?(?:if|of)=.*\S)")
_RECORDS = re.compile(
    rf"^[^\d+]{{0,20}}([0-9]{{1,20}})\+([0-9]{{1,20}}) (?:{_WORD}{{1,30}} ?){{1,3}}\s*$"
)
_FULL_WIDTH = str.maketrans("，、（）", ",,()")
_ERROR = re.compile(r"^dd: (?:error|failed|writing|reading|cannot)\b.*")
_SETTING = re.compile(
    r"(?<!\S)(?:bs|ibs|obs|cbs|count|conv|iflag|oflag|skip|seek|iseek|oseek)=\S+|"
    r"(?<!\S)[io]f=/dev/(?:zero|null|u?random|full)(?!\S)"
)
"""What tells two copies apart: blocks, how they are written, and where nothing is read or written.
Paths may differ.
"""


def _is_dd(lines: list[str]) -> bool:
    return any(
        _summary(lines, index) is not None for index, line in enumerate(lines) if "B/" in line
    )


@reads("dd", "dd", _is_dd)
def parse_dd(lines: list[str], collector: Collector) -> ParsedResult:
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
            times = prefixed(summary[4].removesuffix("B"), "M", 1000)
            collector.add(f"{name}_throughput", summary[3], "MB/s", number, times=times)
            collector.add(f"{name}_time", summary[2], "s", number)
            command = ""
    return collector.finish("dd copied nothing.", len(lines))


def _summary(lines: list[str], index: int) -> re.Match[str] | None:
    """dd's last line. Progress looks the same, and has no records above it."""
    if index < 2 or not all(map(_RECORDS.match, lines[index - 2 : index])):
        return None
    return _DD_DONE.match(lines[index].translate(_FULL_WIDTH))


def _direction(command: str) -> str:
    """What a copy is called: a file is written, or read, or both."""
    is_made_up = re.search(r"(?<!\S)if=/dev/(?:zero|u?random|full)(?!\S)", command) is not None
    is_dropped = re.search(r"(?<!\S)of=/dev/null(?!\S)", command) is not None
    if is_made_up and not is_dropped:
        return "dd_write"
    return "dd_read" if is_dropped and not is_made_up else "dd"


# hdparm
_HDPARM_ROW = re.compile(
    r"^\s*Timing (cached|buffered disk|O_DIRECT cached|O_DIRECT disk) reads(?: \([^()]*\))?:\s+"
    r"[0-9]+ MB in\s+[0-9.]+ seconds =\s+([0-9]+(?:\.[0-9]+)?) ([kM]B)/sec"
)
_DEVICE = re.compile(r"^(/dev/\S+):\s*$")


@reads("hdparm", "hdparm", any_line(_HDPARM_ROW.match))
def parse_hdparm(lines: list[str], collector: Collector) -> ParsedResult:
    """All timings; those of several devices are of that hardware. Raises UnreadableFile."""
    devices = {name[1] for line in lines if (name := _DEVICE.match(line)) is not None}
    device = ""
    for number, line in enumerate(lines, start=1):
        if (name := _DEVICE.match(line)) is not None:
            device = name[1]
            collector.begin()
        elif (row := _HDPARM_ROW.match(line)) is not None:
            kind = row[1].lower().replace(" ", "_")
            hardware = device if len(devices) > 1 else ""
            unit = "MiB/s" if row[3] == "MB" else "KB/s"
            collector.add(f"hdparm_{kind}", row[2], unit, number, hardware=hardware)
    return collector.finish("hdparm timed nothing.", len(lines))


# ioping
_TITLE = re.compile(r"^--- (.+) ioping statistics ---\s*$")
_N = r"([0-9]+(?:\.[0-9]+)?)"
_IOPING_DONE = re.compile(
    rf"^{_N}(?: ([kMG]))? requests completed in .{{1,60}}?, (?:{_N} ([KMGT]i)?B.{{0,60}}?, )?"
    rf"{_N}(?: ([kMG]))? iops, "
    rf"{_N} (?:([KMG]i)?B|mb)/s"
)
_TIMES = re.compile(
    rf"^min/avg/max/mdev = {_N} (ns|us|ms|s) / {_N} (ns|us|ms|s) / {_N} (ns|us|ms|s) / "
)
# Until 0.6 one unit stands behind all four.
_OLD_TIMES = re.compile(rf"^min/avg/max/mdev = {_N}/{_N}/{_N}/[0-9.]+ (ns|us|ms|s)\s*$")
_REQUEST = re.compile(
    rf"^{_N} (?:([KMG]i)?B|bytes) (<<<|>>>|from|to) .*request=[0-9]+ time={_N} (ns|us|ms|s)\s*"
    r"(\(warmup\))?"
)
_UNITS = (("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_ROUNDED = Decimal("0.02")
_MICRO: dict[str, Decimal | int] = {"ns": Decimal("0.001"), "us": 1, "ms": 1000, "s": 10**6}


def _size(summary: re.Match[str]) -> str:
    """The size of a request where none is printed: only a power of two survives the rounding."""
    requests = Decimal(summary[1]) * prefixed(summary[2], "", 1000)
    if not summary[3] or not requests or summary[4] == "Ti":
        return ""
    size = Decimal(summary[3]) * prefixed(summary[4], "") / requests
    for power in range(9, 30):
        if abs(size / 2**power - 1) <= _ROUNDED:
            return _size_text(2**power)
    return ""


def _size_text(size: int) -> str:
    """Bytes of a request as a setting, in the largest unit that divides them."""
    unit, times = next((name, of) for name, of in _UNITS if size % of == 0)
    return f"size {size // times} {unit}"


def _times(line: str) -> list[tuple[str, str]]:
    """Shortest, mean and longest time with their units; none in any other line."""
    if (row := _TIMES.match(line)) is not None:
        return [(row[1], row[2]), (row[3], row[4]), (row[5], row[6])]
    if (row := _OLD_TIMES.match(line)) is not None:
        return [(text, row[4]) for text in row.group(1, 2, 3)]
    return []


@reads("ioping", "ioping", any_line(_TITLE.match))
def parse_ioping(lines: list[str], collector: Collector) -> ParsedResult:
    """Times and rates of each run. Raises UnreadableFile where the statistics are cut off."""
    result = collector.result
    samples: list[float] = []
    sizes: set[str] = set()
    kind = "read"
    has_requests = False
    for number, line in enumerate(lines, start=1):
        if (request := _REQUEST.match(line)) is not None:
            kind = "write" if request[3] in (">>>", "to") else "read"
            sizes.add(_size_text(int(Decimal(request[1]) * prefixed(request[2], ""))))
            has_requests = True
            if not request[6]:
                samples.append(float(Decimal(request[4]) * _MICRO[request[5]]))
        elif _TITLE.match(line):
            collector.begin()
        elif (summary := _IOPING_DONE.match(line)) is not None:
            kind = "write" if " written, " in line else kind
            times = prefixed(summary[6], "", 1000)
            mebi = 1 if summary[0].endswith("mb/s") else prefixed(summary[8], "M")
            collector.add(f"ioping_{kind}_iops", summary[5], "ops/s", number, times=times)
            collector.add(f"ioping_{kind}_throughput", summary[7], "MiB/s", number, times=mebi)
            if not has_requests and (size := _size(summary)):
                sizes.add(size)
            has_requests = False
        elif (texts := _times(line)) and number < len(lines):
            for name, (text, unit) in zip(("min", "avg", "max"), texts, strict=True):
                test_samples = samples if name == "avg" else []
                test = f"ioping_{kind}_latency_{name}"
                collector.add(test, text, "µs", number, times=_MICRO[unit], samples=test_samples)
            samples = []
    if len(sizes) > 1:
        collector.refuse(
            len(lines),
            f"Runs of ioping with other sizes ({', '.join(sorted(sizes))}) are in one file: make "
            "each a file of its own.",
        )
    result.modes = tuple(sorted(sizes))
    return collector.finish("ioping's statistics have no numbers: they are cut off.", len(lines))


# compilebench
_COMPILEBENCH_ROW = re.compile(
    r"^(intial create|create|patch|compile|clean|(?:read|delete|stat)(?: compiled)? tree) total "
    r"runs ([1-9][0-9]*) avg ([0-9]+(?:\.[0-9]+)?) (MB/s|seconds) \(user "
)
_START = re.compile(r"^using working directory .*, ([0-9]+ intial dirs [0-9]+ runs)\s*$")


@reads("compilebench", "compilebench", any_line(_START.match, _COMPILEBENCH_ROW.match))
def parse_compilebench(lines: list[str], collector: Collector) -> ParsedResult:
    """All operations that were run; a further summary is a repeat. Raises UnreadableFile."""
    result = collector.result
    settings: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        if (start := _START.match(line)) is not None:
            settings[start[1]] = None
            collector.begin()
            if len(settings) > 1:
                message = "A run with other numbers of directories starts here: a file of its own."
                collector.refuse(number, message)
        elif (row := _COMPILEBENCH_ROW.match(line)) is not None:
            if row[1] == "intial create" and not settings:
                collector.begin()
            # compilebench misspells its first operation.
            name = row[1].replace("intial", "initial")
            unit = "MiB/s" if row[4] == "MB/s" else "s"
            collector.add(test_name("compilebench", name), row[3], unit, number)
            if row[2] == "1":
                collector.warn(number, f"The mean of {name} is of a single run.", is_note=True)
    result.modes = tuple(settings)
    if not any(line.startswith(("no runs for stat compiled", "stat compiled")) for line in lines):
        collector.lose(
            len(lines), "The summary does not end with stat compiled tree: it is cut off."
        )
    return collector.finish("compilebench's summary is not there: the run did not end.", len(lines))
