"""What ``hdparm -t`` and ``-T`` print: reads of a device, and of its cache.

Its MB are 1024 * 1024 bytes. Source: hdparm's manual and its ``time_device``, and output of 9.65.
"""

import re

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.values import Collector, any_line, reads

_ROW = re.compile(
    r"^\s*Timing (cached|buffered disk|O_DIRECT cached|O_DIRECT disk) reads(?: \([^()]*\))?:\s+"
    r"[0-9]+ MB in\s+[0-9.]+ seconds =\s+([0-9]+(?:\.[0-9]+)?) ([kM]B)/sec"
)
_DEVICE = re.compile(r"^(/dev/\S+):\s*$")


@reads("hdparm", "hdparm", any_line(_ROW.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All timings; those of several devices are of that hardware. Raises UnreadableFile."""
    devices = {name[1] for line in lines if (name := _DEVICE.match(line)) is not None}
    device = ""
    for number, line in enumerate(lines, start=1):
        if (name := _DEVICE.match(line)) is not None:
            device = name[1]
            collector.begin()
        elif (row := _ROW.match(line)) is not None:
            kind = row[1].lower().replace(" ", "_")
            hardware = device if len(devices) > 1 else ""
            unit = "MiB/s" if row[3] == "MB" else "KB/s"
            collector.add(f"hdparm_{kind}", row[2], unit, number, hardware=hardware)
    return collector.finish("hdparm timed nothing.", len(lines))
