"""IOzone's throughput mode (-t, or -l and -u): rates of several processes or threads at once.

Every test has a block: what all children saw, what their parent saw, and the smallest, largest and
mean rate of one of them. Source: iozone(1), and output of 3.489.
"""

import re
from dataclasses import dataclass

from fsbench_web.core.formats.iozone.log import COMPLETE, is_banner, is_matrix_header, read_head
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_UNIT = r"([kK]B/sec|ops/sec|usec/op|microsec(?:onds)?/op)"
_CHILDREN = re.compile(
    rf"^[\s>]*(Children see|Parent sees) throughput for\s+([0-9]{{1,9}}) (\S[^=]{{0,60}}?)\s*=\s*"
    rf"{_NUMBER}\s+{_UNIT}"
)
_EACH = re.compile(
    rf"^[\s>]*(Min|Max|Avg) throughput per (?:process|thread)\s*=\s*{_NUMBER}\s+{_UNIT}"
)
_KIND = re.compile(r"Throughput test with ([0-9]{1,9}) (process|thread)")
_SIZES = re.compile(
    r"Each (process|thread) writes a ([0-9]{1,12}) ?kbytes? file in ([0-9]{1,9}) ?kbytes? records",
    re.IGNORECASE,
)
_TESTS = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "random readers": "random_read",
    "random writers": "random_write",
    "reverse readers": "backward_read",
    "stride readers": "stride_read",
    "fwriters": "fwrite",
    "refwriters": "refwrite",
    "re-fwriters": "refwrite",
    "freaders": "fread",
    "refreaders": "refread",
    "re-freaders": "refread",
}
_UNITS = {"kb/sec": "KB/s", "ops/sec": "ops/s"}
_LOADS = {"process": "processes", "thread": "threads"}
_LARGEST_RECORD_KB = 2**31 - 1


def _starts(line: str) -> bool:
    text = _plain(line)
    return _KIND.search(text) is not None or _CHILDREN.match(text) is not None


def _plain(line: str) -> str:
    """The words of a line with one blank each: a paste may have others."""
    return " ".join(line.split()) if "hroughput" in line or "Each" in line else line


@dataclass
class _Test:
    name: str = ""
    kind: str = "process"


@reads("iozone-throughput", "iozone", any_line(_starts))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All blocks of all runs in the file. Raises UnreadableFile where there is none."""
    starts = [index for index, line in enumerate(lines) if is_banner(line)]
    complete = [" ".join(line.split()) == COMPLETE for line in lines].count(True)
    is_complete = complete >= len(starts)
    starts = sorted({0, *starts})
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        collector.lines_before = start
        _run(collector, lines[start:end])
    collector.lines_before = 0
    if not is_complete:
        collector.lose(len(lines), "The file ends before IOzone did: the rest is missing.")
    return collector.finish(
        "IOzone's throughput mode (-t) is there, and no result of it: the run did not end.", 1
    )


def _run(collector: Collector, lines: list[str]) -> None:
    first = next((index for index, line in enumerate(lines) if _starts(line)), len(lines))
    head = read_head(collector, lines[:first]).result
    result = collector.result
    result.tool_version = result.tool_version or head.tool_version
    result.command = result.command or head.command
    kernels = dict.fromkeys((*result.printed_kernels, *head.printed_kernels))
    result.printed_kernels = tuple(kernels)
    result.facts += [fact for fact in head.facts if fact not in result.facts]
    collector.begin(head.modes)
    test = _Test()
    for number, line in enumerate(lines, start=1):
        if is_matrix_header(line):
            message = "A matrix starts here, in a file of throughput mode (-t): make each a file."
            collector.refuse(number, message)
    for number, line in enumerate(lines[first:], start=first + 1):
        _line(collector, test, _plain(line), number)


def _line(collector: Collector, test: _Test, line: str, number: int) -> None:
    if (kind := _KIND.search(line)) is not None:
        test.kind = kind[2]
    elif (sizes := _SIZES.search(line)) is not None:
        file_kb, record_kb = int(sizes[2]), int(sizes[3])
        fits = 0 < record_kb <= _LARGEST_RECORD_KB and file_kb > 0
        test.kind = sizes[1].lower()
        collector.sizes = (record_kb, file_kb) if fits else (None, None)
    elif (children := _CHILDREN.match(line)) is not None:
        side, count, title, text, unit = children.groups()
        name = title.strip().lower()
        test.name = _TESTS.get(name) or test_name(name)
        collector.load = load_text(**{_LOADS[test.kind]: int(count)})
        _keep(collector, test, "" if side == "Children see" else "parent", text, unit, number)
    elif test.name and (each := _EACH.match(line)) is not None:
        _keep(collector, test, each[1].lower(), each[2], each[3], number)
    elif "throughput" in line and "report" not in line.lower() and "=" in line:
        collector.warn(number, f"{quoted(line)} is not known and is left out.")


def _keep(collector: Collector, test: _Test, kind: str, text: str, unit: str, line: int) -> None:
    collector.add(test_name(test.name, kind), text, _UNITS.get(unit.lower(), "µs"), line)
