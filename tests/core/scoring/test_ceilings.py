"""What a LUN itself can do, and what a score is of it."""

import math
from typing import Any

import pytest

from fsbench_web.core.scoring import ceilings
from fsbench_web.core.scoring.ceilings import (
    RANDOM,
    READ,
    SEQUENTIAL,
    WRITE,
    Ceiling,
    Probe,
    Request,
    ceiling,
    mean_of,
    read_probe,
)
from fsbench_web.core.scoring.shares import Share, share_of, share_percent

KIB = 1024
MIB = 1024 * KIB


def point(
    pattern: str, direction: str, block_bytes: int, depth: int, *iops: float, **more: Any
) -> dict[str, Any]:
    return {
        "pattern": pattern,
        "direction": direction,
        "block_bytes": block_bytes,
        "depth": depth,
        "flushed": False,
        "iops": list(iops),
        "latency_ns": [1e9 * depth / rate for rate in iops],
        "flush_ns": [],
        **more,
    }


def document(*points: dict[str, Any]) -> dict[str, Any]:
    return {
        "probe": 1,
        "fio": "fio-3.33",
        "device_bytes": 10 * MIB,
        "from_byte": MIB,
        "to_byte": 10 * MIB,
        "seconds": 60.0,
        "took_s": 59.0,
        "seed": 7,
        "points": list(points),
    }


DISK = document(
    point(RANDOM, READ, 4 * KIB, 1, 1000, 1000, 1000),
    point(RANDOM, READ, 4 * KIB, 8, 8000, 8000, 8000),
    point(RANDOM, READ, 4 * KIB, 32, 16000, 16000, 16000),
    point(RANDOM, READ, 16 * KIB, 1, 500, 500, 500),
    point(RANDOM, WRITE, 4 * KIB, 1, 900, 1100),
    point(RANDOM, WRITE, 4 * KIB, 8, 3000, 3000),
    point(RANDOM, WRITE, 4 * KIB, 32, 2000, 2000),
    point(RANDOM, WRITE, 4 * KIB, 1, 200, flushed=True, flush_ns=[4e6]),
    point(SEQUENTIAL, READ, MIB, 1, 100, 100, 100),
    point(SEQUENTIAL, READ, MIB, 32, 200, 200, 200),
    point(SEQUENTIAL, READ, 4 * KIB, 1, 5000, 5000),
)
PROBE: Probe = read_probe(DISK)


def of(*request: Any, **more: Any) -> Ceiling:
    lun_ceiling = ceiling(PROBE, Request(*request, **more))
    assert lun_ceiling is not None
    return lun_ceiling


def test_what_was_measured_is_the_ceiling() -> None:
    lun_ceiling = of(RANDOM, READ, 4 * KIB, 8)
    assert lun_ceiling.iops == 8000
    assert lun_ceiling.kb_s == 32000
    assert lun_ceiling.latency_ns == 1e6
    assert lun_ceiling.spread_percent == 0
    assert not lun_ceiling.is_between
    assert of(RANDOM, WRITE, 4 * KIB, 1, is_flushed=True).iops == 200


def test_between_two_it_is_on_the_straight_line_of_logarithms() -> None:
    lun_ceiling = of(RANDOM, READ, 4 * KIB, 16)
    assert lun_ceiling.iops == pytest.approx(math.sqrt(8000 * 16000))
    assert lun_ceiling.is_between
    lun_ceiling = of(RANDOM, READ, 8 * KIB, 1)
    assert lun_ceiling.iops == pytest.approx(math.sqrt(1000 * 500))
    # Of a depth at which one size alone was measured, that size is the nearest.
    lun_ceiling = of(RANDOM, READ, 8 * KIB, 8)
    assert (lun_ceiling.iops, lun_ceiling.is_between) == (8000, True)


def test_outside_it_is_the_nearest_up_to_a_factor_of_two_and_then_nothing() -> None:
    assert of(RANDOM, READ, 4 * KIB, 64).iops == 16000
    assert of(RANDOM, READ, 4 * KIB, 64).is_between
    assert ceiling(PROBE, Request(RANDOM, READ, 4 * KIB, 65)) is None
    small = of(RANDOM, READ, 2 * KIB, 1)
    assert (small.iops, small.kb_s) == (1000, 2000)
    assert ceiling(PROBE, Request(RANDOM, READ, 1 * KIB, 1)) is None
    assert ceiling(PROBE, Request(SEQUENTIAL, WRITE, MIB, 1)) is None


def test_half_of_a_large_request_takes_half_its_time() -> None:
    """Of 1 MiB alone at that depth: operation for operation a disk would do twice what it does."""
    half = of(SEQUENTIAL, READ, 512 * KIB, 32)
    assert (half.iops, half.kb_s) == (400, 200 * KIB)
    assert half.latency_ns == 1e9 * 32 / 400
    assert half.is_between
    assert ceiling(PROBE, Request(SEQUENTIAL, READ, 256 * KIB, 32)) is None
    twice = of(SEQUENTIAL, READ, 2 * MIB, 32)
    assert (twice.iops, twice.latency_ns) == (200, 1e9 * 32 / 200)


def test_what_the_kernel_writes_back_and_reads_ahead_has_the_best_of_the_lun() -> None:
    ahead = Request(SEQUENTIAL, READ, 4 * KIB, 1).by_the_kernel()
    assert of(SEQUENTIAL, READ).kb_s == 200 * KIB
    lun_ceiling = ceiling(PROBE, ahead)
    assert lun_ceiling is not None
    assert lun_ceiling.kb_s == 200 * KIB
    # The deepest is not the best of this disk.
    back = ceiling(PROBE, Request(RANDOM, WRITE, 4 * KIB, 1).by_the_kernel())
    assert back is not None
    assert back.iops == 3000
    # A buffered random read waits, and reads no less than a page.
    waits = ceiling(PROBE, Request(RANDOM, READ, 1 * KIB, 1).by_the_kernel())
    assert waits is not None
    assert (waits.iops, waits.kb_s) == (1000, 1000)


def test_shares_are_of_speed_whatever_the_unit() -> None:
    lun_ceiling = of(RANDOM, READ, 4 * KIB, 8)
    assert share_percent(6640, "ops/s", "randread_read_iops", lun_ceiling) == pytest.approx(83)
    assert share_percent(16000, "KB/s", "randread_read_bw", lun_ceiling) == pytest.approx(50)
    assert share_percent(16000, "KiB/s", "x", lun_ceiling) == pytest.approx(50)
    assert share_percent(2e6, "ns", "randread_read_clat_mean", lun_ceiling) == pytest.approx(50)
    assert share_percent(2, "ms", "randread_read_lat_mean", lun_ceiling) == pytest.approx(50)
    # The LUN's own is a mean: nothing but a mean of the same is a share of it.
    for other in ("clat_max", "lat_max", "clat_p50", "clat_p99.9@iodepth=8", "slat_mean"):
        assert share_percent(2e6, "ns", f"randread_read_{other}", lun_ceiling) is None


@pytest.mark.parametrize(
    ("value", "unit", "test"),
    [
        (3, "s", "mkfs"),
        (0, "ops/s", "randread_read_iops"),
        (-1, "ops/s", "randread_read_iops"),
        (5, "% CPU", "x"),
        (5, "no such unit", "x"),
        (5, "MiB", "x"),
    ],
)
def test_what_is_no_speed_has_no_share(value: float, unit: str, test: str) -> None:
    assert share_percent(value, unit, test, of(RANDOM, READ, 4 * KIB, 8)) is None


def test_a_single_burst_has_no_spread_and_says_so() -> None:
    assert of(RANDOM, WRITE, 4 * KIB, 1, is_flushed=True).spread_percent is None
    assert PROBE.worst_spread_percent is None
    assert of(RANDOM, WRITE, 4 * KIB, 1).spread_percent == pytest.approx(
        12.706 * 100 / 1000 * 100, rel=1e-3
    )


def test_a_matrix_is_set_against_its_cells_ceilings() -> None:
    cells = [of(RANDOM, READ, size * KIB, 1) for size in (4, 16, 16)]
    rates = [4000, 8000, 8000]
    assert ceilings.of_cells(cells, "maximum").kb_s == 8000
    assert ceilings.of_cells(cells, "minimum").kb_s == 4000
    average = ceilings.of_cells(cells, "total_average")
    assert average.kb_s == pytest.approx(sum(rates) / 3)
    assert average.request.words() == "random read of 4 KiB to 16 KiB, queue depth 1"
    assert ceilings.of_cells(cells[:1], "minimum") == cells[0]
    assert share_percent(3000, "KB/s", "write", average) == pytest.approx(45)
    # Their ceiling is of bytes: operations of 4 and of 8 KiB are not added up, nor their times.
    assert share_percent(3000, "ops/s", "write", average) is None
    assert share_percent(3000, "ns", "write_lat_mean", average) is None


def test_several_blocks_are_set_against_their_mean() -> None:
    low, high = of(RANDOM, READ, 4 * KIB, 1), of(RANDOM, READ, 4 * KIB, 8)
    assert ceilings.mean_of([low, high]).iops == 4500


def test_requests_in_words() -> None:
    assert Request(RANDOM, READ, 4 * KIB, 8).words() == "random read of 4 KiB, queue depth 8"
    assert Request(SEQUENTIAL, WRITE).words() == "sequential write, at its best depth"
    flushed = Request(RANDOM, WRITE, 4 * KIB, 1, is_flushed=True)
    assert flushed.words() == "write and flush of 4 KiB"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"probe": 2, "points": []},
        DISK | {"points": [point(RANDOM, READ, 4 * KIB, 1)]},
        DISK | {"points": [point(RANDOM, READ, 4 * KIB, 1, math.nan)]},
        DISK | {"points": [point(RANDOM, READ, 4 * KIB, 1, math.inf)]},
        DISK | {"points": [point("sideways", READ, 4 * KIB, 1, 5)]},
        DISK | {"points": [point(RANDOM, READ, 4 * KIB, 1, 5)] * 201},
        DISK | {"points": 5},
        DISK | {"from_byte": "a"},
        [],
    ],
)
def test_what_is_no_probe_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_probe(wrong)


def test_a_share_that_was_kept_has_the_word_of_today() -> None:
    kept = {"percent": 80.0, "ceiling": 1.0, "of": "random read of 4 KiB, 8 outstanding"}
    share = Share.from_dict(kept | {"probes": 5})
    assert share.of == "random read of 4 KiB, queue depth 8"
    assert Share.from_dict(share.as_dict()) == share


def test_the_ceiling_of_several_probes_knows_how_far_they_lie_apart() -> None:
    of_probes = [
        Ceiling(Request(RANDOM, READ, 4096, 1), iops, 4096, 1e9 / iops, 1.0)
        for iops in (1000.0, 1120.0, 1050.0)
    ]
    joined = mean_of(of_probes)
    assert joined.differ_percent == pytest.approx(12)
    share = share_of(500.0, "ops/s", "randread_read_iops", joined, 3)
    assert share is not None
    assert share.is_unreliable
    alone = share_of(500.0, "ops/s", "randread_read_iops", mean_of(of_probes[:1]), 1)
    assert alone is not None
    assert not alone.is_unreliable
