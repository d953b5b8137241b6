"""The ``result_summary.txt`` of IO500: each phase with its rate and its time, and the score.

kIOPS are 1000 operations a second. Until SC19 IO500 wrote "GB/s" for 2^30 bytes a second, as IOR's
logs of 224 summaries show. Source: IO500's rules, and summaries of 2017 to 2025.
"""

import re

from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.formats.text import cut_off
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_VERSION = re.compile(r"^IO500 version (\S+)(?: \(([a-z]+)\))?")
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?(?:e[+-]?[0-9]{1,3})?|-?nan|-?inf)"
_PHASE = re.compile(
    r"^\[(RESULT|      )\]\s+(?:(?:BW|IOPS)\s+phase [0-9]+\s+)?([A-Za-z0-9_-]{1,60})\s+"
    rf"{_NUMBER} (G(?:i)?B/s|kIOPS|kiops)\s*: time\s+{_NUMBER} seconds(\s*\[INVALID\])?"
)
_SCORE = re.compile(
    rf"^\[SCORE(X?) ?\]\s+Bandwidth {_NUMBER} (?:GB/s|GiB/s) : IOPS {_NUMBER} kiops : "
    rf"TOTAL {_NUMBER}(\s*\[INVALID\])?"
)
# It writes a file to compare times with, and measures nothing.
_NO_PHASES = ("timestamp",)


@reads("io500", "io500", any_line(_PHASE.match, _SCORE.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All phases and the scores. Raises UnreadableFile where none was measured."""
    result = collector.result
    result.complete = False
    for line_number, line in enumerate(lines, start=1):
        if (version := _VERSION.match(line)) is not None:
            result.tool_version = version[1][:40]
            result.modes = (version[2],) if version[2] else ()
        elif (phase := _PHASE.match(line)) is not None and phase[2] not in _NO_PHASES:
            test = test_name("io500", phase[2].replace("-", "_"))
            if phase[4].lower() == "kiops":
                collector.add(test, phase[3], "IOPS", line_number, times=1000)
            else:
                collector.add(test, phase[3], "GiB/s", line_number)
            collector.add(f"{test}_time", phase[5], "s", line_number)
            _check(collector, phase[6], test, line_number)
        elif (score := _SCORE.match(line)) is not None:
            result.complete = True
            test = "io500_extended" if score[1] else "io500"
            collector.add(f"{test}_bandwidth", score[2], "GiB/s", line_number)
            collector.add(f"{test}_iops", score[3], "IOPS", line_number, times=1000)
            if line_number == len(lines) and not score[5]:
                collector.warn(line_number, cut_off(score[4]))
                continue
            collector.add(f"{test}_total", score[4], "score", line_number)
            _check(collector, score[5], f"{test}_total", line_number)
    if not result.complete:
        collector.warn(len(lines), "The summary ends before the score: IO500 did not end.")
    return collector.finish("No phase of IO500 was measured.", len(lines))


def _check(collector: Collector, invalid: str | None, test: str, line: int) -> None:
    if invalid:
        collector.warn(line, f"{test}: IO500 says that it is invalid.")
