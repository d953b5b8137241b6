"""The statistics that ioping prints at its end, of 1.0 to 1.3.

Times are converted to µs, rates to MiB/s and operations/s, exactly. Source: ioping's manual
("rates: k and so on are of 1000, KiB of 1024"), and output of 1.3.
"""

import re
from decimal import Decimal

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector

FORMAT = "ioping"
_TITLE = re.compile(r"^--- (.+) ioping statistics ---\s*$")
_N = r"([0-9]+(?:\.[0-9]+)?)"
_DONE = re.compile(
    rf"^{_N}(?: ([kMG]))? requests completed in .*?, (?:.*?, )?{_N}(?: ([kMG]))? iops, "
    rf"{_N} ([KMG]i)?B/s"
)
_TIMES = re.compile(
    rf"^min/avg/max/mdev = {_N} (ns|us|ms|s) / {_N} (ns|us|ms|s) / {_N} (ns|us|ms|s) / "
)
_REQUEST = re.compile(
    rf"^{_N} ([KMG]i)?B (<<<|>>>) .*request=[0-9]+ time={_N} (ns|us|ms|s)\s*"
    r"(\(warmup\))?"
)
_KILO = {"": 1, "k": 1000, "M": 10**6, "G": 10**9}
_MEBI: dict[str, Decimal | int] = {
    "": Decimal(1) / 1048576,
    "Ki": Decimal(1) / 1024,
    "Mi": 1,
    "Gi": 1024,
}
_MICRO: dict[str, Decimal | int] = {"ns": Decimal("0.001"), "us": 1, "ms": 1000, "s": 10**6}


def recognises(lines: list[str]) -> bool:
    """Whether the title of its statistics is there."""
    return any(_TITLE.match(line) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """Times and rates of each run. Raises UnreadableFile where the statistics are cut off."""
    result = ParsedResult(FORMAT, "ioping")
    collector = Collector(result)
    samples: list[float] = []
    sizes: set[str] = set()
    kind = "read"
    for number, line in enumerate(lines, start=1):
        if (request := _REQUEST.match(line)) is not None:
            kind = "write" if request[3] == ">>>" else "read"
            sizes.add(f"size {request[1]} {request[2] or ''}B")
            if not request[6]:
                samples.append(float(Decimal(request[4]) * _MICRO[request[5]]))
        elif _TITLE.match(line):
            collector.begin()
        elif (summary := _DONE.match(line)) is not None:
            kind = "write" if " written, " in line else kind
            times, mebi = _KILO[summary[4] or ""], _MEBI[summary[6] or ""]
            collector.add(f"ioping_{kind}_iops", summary[3], "ops/s", number, times=times)
            collector.add(f"ioping_{kind}_throughput", summary[5], "MiB/s", number, times=mebi)
        elif (row := _TIMES.match(line)) is not None and number < len(lines):
            for place, name in enumerate(("min", "avg", "max")):
                text, unit = row[2 * place + 1], row[2 * place + 2]
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
