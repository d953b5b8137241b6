"""Units are converted exactly, and what says either 1000 or 1024 is asked about."""

from fractions import Fraction
from pathlib import Path

import pytest

from fsbench_web.core.conversion import (
    MEANT_BY,
    OPERATIONS,
    RATE,
    SIZE,
    TIME,
    Meaning,
    converted,
    meaning,
)
from fsbench_web.core.formats import parse


@pytest.mark.parametrize(
    ("unit", "dimension", "factor"),
    [
        ("KiB/s", RATE, 1024),
        ("kB/s", RATE, 1000),
        ("MiB/s", RATE, 1024**2),
        ("GiB/s", RATE, 1024**3),
        ("Mbit/s", RATE, Fraction(10**6, 8)),
        ("bytes", SIZE, 1),
        ("TiB", SIZE, 1024**4),
        ("ns", TIME, Fraction(1, 10**9)),
        ("h", TIME, 3600),
        ("IOPS", OPERATIONS, 1),
    ],
)
def test_a_unit_that_says_itself_what_it_is(unit: str, dimension: str, factor: int) -> None:
    assert meaning(unit) == Meaning(dimension, Fraction(factor))
    assert meaning(unit, "dbench") == meaning(unit, "postmark")


@pytest.mark.parametrize(
    ("unit", "tool", "factor"),
    [
        ("KB/s", "iozone", 1024),
        ("MB/s", "dbench", 10**6),
        ("KB/s", "fio", 1024),
        ("KB/s", "bonnie++", 1024),
        ("MB", "postmark", 1024**2),
    ],
)
def test_what_a_tool_means_by_kb(unit: str, tool: str, factor: int) -> None:
    found = meaning(unit, tool)
    assert found is not None
    assert found.factor == factor


@pytest.mark.parametrize(
    ("unit", "tool"), [("KB/s", ""), ("MB/s", "table"), ("MB/s", "ior"), ("MB/s", "phoronix")]
)
def test_what_says_either_is_not_known(unit: str, tool: str) -> None:
    assert meaning(unit, tool) is None


@pytest.mark.parametrize("unit", ["", "/s", "frames", "score", "kb/s", "MB/min"])
def test_what_is_no_known_unit_has_no_meaning(unit: str) -> None:
    assert meaning(unit, "iozone") is None


def test_conversion_is_exact_and_there_and_back_the_same() -> None:
    mib, mb, kib = meaning("MiB/s"), meaning("MB/s", "dbench"), meaning("KiB/s")
    assert mib is not None
    assert mb is not None
    assert kib is not None
    assert converted("0.1", mib, kib) == Fraction("102.4")
    assert converted("1101.53", mib, mb) == Fraction(110153 * 1024**2, 100 * 10**6)
    there = converted("364.38", mb, mib)
    assert there * mib.factor / mb.factor == Fraction("364.38")
    ms = meaning("ms")
    assert ms is not None
    with pytest.raises(ValueError, match="bytes a second are no seconds"):
        converted("1", mib, ms)


def test_every_entry_is_of_a_tool_that_is_read_and_names_its_source() -> None:
    samples = Path(__file__).parents[1] / "formats/samples"
    names = (
        *("iozone-3.489-tests-0-1-2", "postmark-1.51", "bonnie-1.96", "fio-3.33-json"),
        *("dbench-4.00",),
    )
    tools = {parse(name, (samples / f"{name}.txt").read_bytes()).tool for name in names}
    assert tools | {"crystaldiskmark"} == set(MEANT_BY)
    for one in MEANT_BY.values():
        assert one.base in (1000, 1024)
        assert len(one.source) > 20
