"""The statistics that ioping prints at its end, of 0.4 to 1.3.

Times are converted to µs, rates to MiB/s and operations/s, exactly. Source: ioping's manual
("rates: k and so on are of 1000, KiB of 1024"), and output of 0.6 and 1.3.
"""

import re
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, any_line, reads

_TITLE = re.compile(r"^--- (.+) ioping statistics ---\s*$")
_N = r"([0-9]+(?:\.[0-9]+)?)"
_DONE = re.compile(
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
_KILO = {"": 1, "k": 1000, "M": 10**6, "G": 10**9}
_MEBI: dict[str, Decimal | int] = {
    "": Decimal(1) / 1048576,
    "Ki": Decimal(1) / 1024,
    "Mi": 1,
    "Gi": 1024,
}
_UNITS = (("MiB", 2**20), ("KiB", 2**10), ("B", 1))
_ROUNDED = Decimal("0.02")
_MICRO: dict[str, Decimal | int] = {"ns": Decimal("0.001"), "us": 1, "ms": 1000, "s": 10**6}


def _size(summary: re.Match[str]) -> str:
    """The size of a request where none is printed: only a power of two survives the rounding."""
    requests = Decimal(summary[1]) * _KILO[summary[2] or ""]
    if not summary[3] or not requests or summary[4] == "Ti":
        return ""
    size = Decimal(summary[3]) * _MEBI[summary[4] or ""] * 1048576 / requests
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
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Times and rates of each run. Raises UnreadableFile where the statistics are cut off."""
    result = collector.result
    samples: list[float] = []
    sizes: set[str] = set()
    kind = "read"
    has_requests = False
    for number, line in enumerate(lines, start=1):
        if (request := _REQUEST.match(line)) is not None:
            kind = "write" if request[3] in (">>>", "to") else "read"
            sizes.add(_size_text(int(Decimal(request[1]) * _MEBI[request[2] or ""] * 1048576)))
            has_requests = True
            if not request[6]:
                samples.append(float(Decimal(request[4]) * _MICRO[request[5]]))
        elif _TITLE.match(line):
            collector.begin()
        elif (summary := _DONE.match(line)) is not None:
            kind = "write" if " written, " in line else kind
            times = _KILO[summary[6] or ""]
            mebi = 1 if summary[0].endswith("mb/s") else _MEBI[summary[8] or ""]
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
