"""A tool that failed stores no nonsense: its counters that ran over are missing, and it is told."""

import re
from contextlib import suppress

import pytest

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.units import most_measurable
from tests.core.formats.test_hostile import samples
from tests.core.formats.test_wrapped import TOOLS

RAN_OVER = ("18446744073709551615", "18446744073709.55", "1.84467e+19")
"""2**64 as a count, as nanoseconds in ms as sysbench 0.4 prints them, and by a tool that rounds."""
NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?!\w)")
FAILED = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Number of threads: 1

Extra file open flags: 0
Block size 16Kb
Doing random r/w test
FATAL: Failed to read file! file: 80 pos: 6717440 errno = 0 (Success)
Done.

Read 0b  Written 0b  Total transferred 0b  (0b/sec)
    {0} Requests/sec executed

    per-request statistics:
         min:                            18446744073709.55ms
         avg:                                  0.00ms

Threads fairness:
"""


@pytest.mark.parametrize("name", TOOLS)
def test_a_counter_that_ran_over_is_missing_in_every_unit(name: str) -> None:
    lines = samples()[name].split("\n")
    for value in parse("x", "\n".join(lines).encode()).values[:2]:
        line = lines[value.line - 1]
        for number in [*NUMBER.finditer(line)][:8]:
            for counter in RAN_OVER:
                changed = list(lines)
                changed[value.line - 1] = line[: number.start()] + counter + line[number.end() :]
                with suppress(UnreadableFile):
                    read = parse("x", "\n".join(changed).encode()).values
                    assert not [v for v in read if v.value > most_measurable(v.unit)]
                    assert not [v for v in read if v.value > 1.8e19]


def test_a_fatal_line_is_warned_of() -> None:
    result = parse("x", FAILED.format("12.50").encode())
    assert [(value.test, value.value) for value in result.values] == [
        ("sysbench_rndrw_requests", 12.5)
    ]
    assert not result.complete
    assert 8 in [warning.line for warning in result.warnings if not warning.is_note]


def test_a_refusal_says_what_the_tool_said() -> None:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", FAILED.format("0.00").encode())
    first = refused.value.problems[0]
    assert (first.line, "FATAL: Failed to read file" in first.message) == (8, True)


@pytest.mark.parametrize(
    "said",
    [
        "fio: io_u error on file /mnt/x: No space left on device: write offset=0, buflen=4096",
        "postmark: /mnt/x: Read-only file system",
        "cannot write: Input/output error",
        "./run.sh: line 3: 4711 Segmentation fault (core dumped) fs_mark -d /mnt",
    ],
)
@pytest.mark.parametrize("name", ["bonnie-csv", "dbench", "fs_mark", "fio-normal", "mdtest"])
def test_every_format_warns_of_them(name: str, said: str) -> None:
    result = parse("x", f"{said}\n{samples()[name]}".encode())
    assert 1 in [warning.line for warning in result.warnings if not warning.is_note]
    assert not result.complete
