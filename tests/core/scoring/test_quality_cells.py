"""Flags of one number by itself: clock, device, direct I/O."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.core.scoring import quality_cells as cells

TICK = cells.IOZONE_TICK_S


def column(*values: float) -> cells.Numbers:
    return np.array(values, dtype=np.float64)


def limited(
    rate: float,
    file_kb: float = 64,
    record_kb: float = 4,
    unit: str = "KB/s",
    test: str = "write",
) -> bool:
    took = cells.seconds(test, unit, column(record_kb), column(file_kb), column(rate))
    return bool(cells.clock_limited(took, TICK)[0])


def test_a_cell_of_less_than_100_ticks_is_limited_by_the_clock() -> None:
    # 64 KB in 100 microseconds are 640,000 KB/s: the first rate that is not limited.
    assert limited(640_001)
    assert not limited(640_000)
    assert not limited(1136)


def test_the_papers_largest_rate_is_one_tick() -> None:
    assert limited(4_000_000, file_kb=4)
    took = cells.seconds("random_read", "KB/s", column(4), column(4), column(4_000_000))
    assert took[0] == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("test", "is_limited"),
    [
        ("write", True),
        # Eight processes have moved a file each: eight times as long.
        ("write@processes=8", False),
        ("write@threads=8", False),
        # The rate of one of them is of one file.
        ("write_min@processes=8", True),
    ],
)
def test_processes_move_a_file_each(test: str, is_limited: bool) -> None:
    assert limited(1_000_000, test=test) is is_limited


def test_operations_and_microseconds_are_of_records() -> None:
    # 16 records of 4 KB: 160,000 operations a second are 100 µs, as 6.25 µs an operation are.
    assert not limited(160_000, unit="ops/s")
    assert limited(160_001, unit="ops/s")
    assert not limited(6.25, unit="µs")
    assert limited(6.2, unit="µs")


def test_what_has_no_size_or_another_unit_is_not_judged() -> None:
    assert not limited(9e9, file_kb=-1)
    assert not limited(9e9, record_kb=-1, unit="ops/s")
    assert not limited(1e-9, unit="s")
    assert not limited(1e9, unit="MB/s")  # of 1,000 or 1,024, nobody knows


@pytest.mark.parametrize(("unit", "kb"), [("KiB/s", 1), ("MiB/s", 1024), ("SI MB/s", 976.5625)])
def test_rates_in_other_units_are_judged_alike(unit: str, kb: float) -> None:
    assert limited(640_001 / kb, unit=unit)
    assert not limited(639_999 / kb, unit=unit)
    assert cells.rates_kb_s(unit, column(4), column(2))[0] == 2 * kb


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_what_was_not_measured_is_never_flagged(value: float) -> None:
    for unit in ("KB/s", "ops/s", "µs"):
        assert not limited(value, unit=unit)
        rates = cells.rates_kb_s(unit, column(4), column(value))
        assert not cells.above_device(rates, 1e-9)[0]


@given(st.floats(1, 1e9), st.integers(4, 2**30), st.floats(0.001, 1000))
def test_the_clock_knows_only_file_over_rate(rate: float, file_kb: int, factor: float) -> None:
    took = [
        cells.seconds("read", "KB/s", column(4), column(f), column(r))[0]
        for f, r in ((file_kb, rate), (file_kb * factor, rate * factor))
    ]
    assert took[0] == pytest.approx(took[1])


def test_rates_above_the_device_are_memorys() -> None:
    rates = column(99_999, 100_000, 100_001)
    assert cells.above_device(rates, 100_000).tolist() == [False, False, True]


def test_rates_of_operations_are_of_their_records() -> None:
    assert cells.rates_kb_s("ops/s", column(8), column(100))[0] == 800
    assert cells.rates_kb_s("µs", column(8), column(10))[0] == pytest.approx(800_000)
    assert np.isnan(cells.rates_kb_s("ops/s", column(-1), column(100))[0])
    assert np.isnan(cells.rates_kb_s("s", column(8), column(100))[0])


@pytest.mark.parametrize("test", ["fwrite", "refwrite", "fread", "refread", "fread@threads=2"])
def test_stdio_is_not_reached_by_direct_io(test: str) -> None:
    assert cells.is_buffered(test, is_direct=True)
    assert not cells.is_buffered(test, is_direct=False)


@pytest.mark.parametrize("test", ["write", "random_read", "bonnie_putc", "my_fwrite"])
def test_other_tests_are_reached(test: str) -> None:
    assert not cells.is_buffered(test, is_direct=True)


def test_iozone_says_itself_that_it_was_asked_for_direct_io() -> None:
    assert cells.requests_direct_io(["O_DIRECT feature enabled"])
    assert not cells.requests_direct_io(["Include fsync in write timing"])


@pytest.mark.parametrize(
    ("modes", "is_direct"),
    [
        (["bs=4k", "direct=1"], True),
        (["bs=4k", "direct"], True),
        (["bs=4k", "direct=0"], False),
        (["a: direct=1", "b: direct=1", "b: bs=4k"], True),
        (["a: direct=1", "b: bs=4k"], False),
        (["direct-0: bs=4k", "direct-1: bs=8k"], False),
        (["direct IO true"], True),
        (["direct IO 1"], True),
        (["direct IO false"], False),
        (["direct IO 0", "--sync"], False),
        (["Extra file open flags: directio"], True),
        (["GPUDirect 0", "fsync 0"], False),
        (["8000 files/directories"], False),
        (["useO_DIRECT 1"], True),
        (["useO_DIRECT 0"], False),
        ([], False),
    ],
)
def test_direct_io_is_what_a_setting_says_and_not_that_it_is_named(modes, is_direct) -> None:
    """As the samples of formats have them: fio, elbencho, sysbench, IOR, mdtest."""
    assert cells.requests_direct_io(modes) is is_direct


@pytest.mark.parametrize(
    ("modes", "is_flushed"),
    [
        (["Include fsync in write timing"], True),
        (["Include close in write timing"], False),
        (["Sync method: INBAND FSYNC"], True),
        (["Periodic FSYNC enabled, calling fsync() each 100 requests."], True),
        (["fsync 0", "fsyncperwrite 0", "GPUDirect 0"], False),
        (["fsync 0", "fsyncperwrite 1"], True),
        *((["bs=4k", setting], True) for setting in ("fsync=8", "fdatasync=32", "end_fsync=1")),
        *((["bs=4k", setting], True) for setting in ("sync=1", "sync=sync", "sync=dsync")),
        *((["bs=4k", setting], False) for setting in ("fsync=0", "create_fsync=1", "sync=none")),
        *((["size=4m", setting], False) for setting in ("ioengine=sync", "ioengine=psync")),
        (["rw=randwrite", "bs=4096B", "ioengine=psync"], None),
        (["a: rw=randwrite", "b: rw=randread"], None),
        (["with-fsync: size=4m", "without: size=4m"], False),
        (["a: fsync=1", "b: fsync=8"], True),
        (["a: fsync=1", "b: bs=4k"], None),
        ([], None),
    ],
)
def test_a_flush_is_what_a_setting_says_and_not_that_it_is_named(modes, is_flushed) -> None:
    assert cells.includes_flush(modes) is is_flushed
