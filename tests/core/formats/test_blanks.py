"""Thousands of blanks within a line are looked at once, and not once for each of them."""

import re
import time

import pytest

from fsbench_web.core.formats import databases, diskspd, servers
from fsbench_web.core.formats.fio import normal as fio
from fsbench_web.core.formats.iozone import log as iozone
from fsbench_web.core.formats.storage import elbencho, ior

LINES = {
    "fio": (fio._PLAN, "seq: (g=0): rw=read{}x, iodepth=8", "rw=read{}x"),
    "ior": (ior._SETTING, "xfersize : 1{}MiB", "1{}MiB"),
    "crystaldiskmark": (diskspd._CRYSTAL_SETTING, "Test: 1{}GiB (x5) [D: 5%]", "1{}GiB (x5)"),
    "elbencho": (elbencho._ROW, "WRITE   Elapsed : 1{}s", "1{}s"),
    "filebench": (
        servers._SETTING,
        "2: bigfile populated: 1{}files...",
        "bigfile populated: 1{}files",
    ),
    "pgbench": (databases._TYPE, "transaction type: <builtin: TPC{}B>", "TPC{}B"),
    "pgbench script": (databases._SCRIPT, "SQL script 1: <builtin: TPC{}B>", "TPC{}B"),
    "iozone": (iozone._UNIT, "Output is in k{}Bytes/sec.", "k{}Bytes/sec"),
}


@pytest.mark.parametrize(("pattern", "line", "group"), LINES.values(), ids=LINES)
@pytest.mark.parametrize("tail", ["", " ", "\t  "])
def test_a_line_is_read_as_ever(pattern: re.Pattern[str], line: str, group: str, tail: str) -> None:
    match = pattern.search(line.format(" ") + tail)
    assert match is not None
    assert group.format(" ") in match.groups()


@pytest.mark.parametrize(("pattern", "line", "group"), LINES.values(), ids=LINES)
def test_many_blanks_cost_no_time(pattern: re.Pattern[str], line: str, group: str) -> None:
    long_line = line.format(" " * 9000)
    began = time.process_time()
    pattern.search(long_line)
    assert time.process_time() - began < 0.3
