"""Units are converted exactly, and what says either 1000 or 1024 is asked about."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from fsbench_web.core.formats import parse
from fsbench_web.core.units import (
    BINARY,
    DECIMAL,
    MEANT_BY,
    OPERATIONS,
    PRINTED,
    RATE,
    SIZE,
    TIME,
    DisplayUnit,
    Printed,
    UnitFactor,
    exact_fraction,
    explicit_unit,
    is_ambiguous,
    is_known,
    most_measurable,
    shown_units,
    unit_factor,
)


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
    assert unit_factor(unit) == UnitFactor(dimension, Fraction(factor))
    assert unit_factor(unit, "dbench") == unit_factor(unit, "postmark")


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
    conversion = unit_factor(unit, tool)
    assert conversion is not None
    assert conversion.factor == factor


@pytest.mark.parametrize(
    ("unit", "tool"), [("KB/s", ""), ("MB/s", "table"), ("MB/s", "ior"), ("MB/s", "phoronix")]
)
def test_what_says_either_is_not_known(unit: str, tool: str) -> None:
    assert unit_factor(unit, tool) is None


@pytest.mark.parametrize("unit", ["", "/s", "frames", "score", "kb/s", "MB/min"])
def test_what_is_no_known_unit_has_no_meaning(unit: str) -> None:
    assert unit_factor(unit, "iozone") is None


@pytest.mark.parametrize(
    ("unit", "base", "explicit", "factor"),
    [
        ("KB/s", 1024, "KiB/s", 1024),
        ("KB/s", 1000, "kB/s", 1000),
        ("MB/s", 1024, "MiB/s", 1024**2),
        ("MB/s", 1000, "SI MB/s", 10**6),
        ("TB", 1000, "SI TB", 10**12),
    ],
)
def test_what_was_asked_about_says_itself_what_it_is(
    unit: str, base: int, explicit: str, factor: int
) -> None:
    assert is_ambiguous(unit, "table")
    assert explicit_unit(unit, base) == explicit
    assert not is_ambiguous(explicit)
    conversion = unit_factor(explicit)
    assert conversion is not None
    assert conversion.factor == factor
    assert is_known(explicit)


UNITS = ("KiB/s", "kB/s", "MiB/s", "SI MB/s", "GiB/s", "Mbit/s", "B/s")


@hypothesis.given(
    st.floats(min_value=0, max_value=1e30, allow_nan=False),
    st.sampled_from(UNITS),
    st.sampled_from(UNITS),
    st.sampled_from([BINARY, DECIMAL]),
)
def test_there_and_back_is_the_same_fraction(
    value: float, unit: str, other: str, system: str
) -> None:
    units = shown_units([(unit, ""), (other, "")], system)
    converted = exact_fraction(value) * units[unit, ""].times
    assert converted / units[unit, ""].times == Fraction(Decimal(repr(value)))
    # By way of another unit it is the same.
    first, second = unit_factor(unit), unit_factor(other)
    assert first is not None
    assert second is not None
    beside = exact_fraction(value) * first.factor / second.factor
    assert beside * units[other, ""].times == converted


KNOWN, OPEN = ("KB/s", "iozone"), ("KB/s", "table")


@pytest.mark.parametrize(
    ("printed", "system", "expected"),
    [
        # All agree: as printed, whoever printed it.
        ([KNOWN, OPEN], "", {KNOWN: DisplayUnit("KB/s"), OPEN: DisplayUnit("KB/s")}),
        ([("ns", "fio")], "", {("ns", "fio"): DisplayUnit("ns")}),
        ([("ns", "fio")], BINARY, {("ns", "fio"): DisplayUnit("ns")}),
        # One is in another unit: binary, and what nobody explained stands by itself.
        (
            [KNOWN, OPEN, ("MiB/s", "table")],
            "",
            {
                KNOWN: DisplayUnit("MiB/s", Fraction(1, 1024)),
                OPEN: DisplayUnit("KB/s", is_unexplained=True),
                ("MiB/s", "table"): DisplayUnit("MiB/s"),
            },
        ),
        ([KNOWN, OPEN], PRINTED, {KNOWN: DisplayUnit("KB/s"), OPEN: DisplayUnit("KB/s")}),
        (
            [KNOWN, ("MiB/s", "")],
            PRINTED,
            {KNOWN: DisplayUnit("KB/s"), ("MiB/s", ""): DisplayUnit("MiB/s")},
        ),
        ([KNOWN], DECIMAL, {KNOWN: DisplayUnit("MB/s", Fraction(1024, 10**6))}),
        # The same letters, and not the same unit.
        (
            [("MB/s", "dbench"), ("MB/s", "iozone")],
            "",
            {
                ("MB/s", "dbench"): DisplayUnit("MiB/s", Fraction(10**6, 1024**2)),
                ("MB/s", "iozone"): DisplayUnit("MiB/s"),
            },
        ),
        # Times have no systems: the longest unit, where they do not agree.
        (
            [("ns", "fio"), ("µs", "fio")],
            "",
            {("ns", "fio"): DisplayUnit("µs", Fraction(1, 1000)), ("µs", "fio"): DisplayUnit("µs")},
        ),
        # Other dimensions are left alone.
        (
            [KNOWN, ("ops/s", "")],
            "",
            {KNOWN: DisplayUnit("KB/s"), ("ops/s", ""): DisplayUnit("ops/s")},
        ),
        ([("frames/s", "")], BINARY, {("frames/s", ""): DisplayUnit("frames/s")}),
        # A sum that nobody said the unit of goes with the others, while these agree.
        (
            [("score", ""), KNOWN],
            "",
            {("score", ""): DisplayUnit("KB/s"), KNOWN: DisplayUnit("KB/s")},
        ),
        (
            [("score", ""), KNOWN],
            BINARY,
            {
                ("score", ""): DisplayUnit("score", is_unexplained=True),
                KNOWN: DisplayUnit("MiB/s", Fraction(1, 1024)),
            },
        ),
    ],
)
def test_what_is_shown_side_by_side(
    printed: list[Printed], system: str, expected: dict[Printed, DisplayUnit]
) -> None:
    assert shown_units(printed, system) == expected


def test_every_entry_is_of_a_tool_that_is_read_and_names_its_source() -> None:
    samples = Path(__file__).parents[1] / "formats/samples"
    names = (
        *("iozone-3.489-tests-0-1-2", "postmark-1.51", "bonnie-1.96", "fio-3.33-json"),
        *("dbench-4.00", "dd-9.1", "hdparm-9.65", "elbencho-3.1", "crystaldiskmark-8.0.1"),
    )
    read = {parse(name, (samples / f"{name}.txt").read_bytes()).tool for name in names}
    by_fio = {"own-fio", "fio-depths", "pgmeter", "random-access"}
    assert read | by_fio | {"source-copy", "study:unisys-2005"} == set(MEANT_BY)
    for unit_base in MEANT_BY.values():
        assert unit_base.base in (1000, 1024)
        assert len(unit_base.source) > 20


@pytest.mark.parametrize(
    ("unit", "possible", "impossible"),
    [
        ("ns", 1e17, 2**63),
        ("µs", 1e14, 2**64 / 1000),
        ("ms", 1e11, 2**64 / 1e6),
        ("s", 3e8, 2**64 / 1e9),
        ("h", 87_000, 2**32),
        ("KB/s", 1e13, 2**64 / 1000),
        ("MiB/s", 1e10, 2**64 / 2**20),
        ("SI MB/s", 1e10, 2**64 / 1e6),
        ("ops/s", 1e14, 2**64),
        ("bogo ops", 1e30, float("inf")),
    ],
)
def test_what_a_clock_or_a_disk_can_give(unit: str, possible: float, impossible: float) -> None:
    assert possible <= most_measurable(unit)
    assert impossible > most_measurable(unit) or impossible == float("inf")
