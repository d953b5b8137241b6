"""Which sources of a work profile's cells are put together."""

import pytest

from fsbench_web.core.scoring.profiles.combining import put_together
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.workloads.fio_depths import FioDepths
from fsbench_web.core.workloads.iozone import Iozone
from fsbench_web.core.workloads.registry import presets

A, B, C = (RequiredCell("write", block, 4096) for block in (4, 8, 16))
ONE_CELL = dict.fromkeys(("minimum_record_kb", "maximum_record_kb"), 128) | dict.fromkeys(
    ("minimum_file_kb", "maximum_file_kb"), 8192
)


@pytest.mark.parametrize(
    ("cells", "ways", "expected"),
    [
        ({1: {A}, 2: {B}}, "xx", [2, 1]),
        ({1: {A}, 2: {B}}, "xy", [2]),
        ({1: {A, B}, 2: {C}}, "xy", [1]),
        # Two that are put together have more than one that has most.
        ({1: {A, B}, 2: {C}, 3: {A, B}}, "xxy", [1, 2]),
        # What both have is of the one that has more, of equal ones of the newer.
        ({1: {A, B}, 2: {B, C}}, "xx", [2, 1]),
        ({1: {A, B, C}, 2: {B}}, "xx", [1]),
        ({1: set(), 2: set()}, "xy", [2]),
        ({}, "", []),
    ],
)
def test_cells_measured_in_one_way_are_put_together(cells, ways, expected) -> None:
    way = dict(zip(cells, ways, strict=True))
    for able in (list(cells), list(cells)[::-1]):
        sources = put_together(able, [A, B, C], cells.__getitem__, way.__getitem__, int)
        assert sources == expected


def test_a_matrix_measures_in_one_way_whatever_its_sizes() -> None:
    small = presets()["iozone-small"].workload()
    assert Iozone(**ONE_CELL).measurement == small.measurement
    for other in (
        {"direct_io": True},
        {"include_flush": True},
        {"include_close": True},
        {"contents": "random"},
        {"time_limit_s": 60},
    ):
        assert Iozone(**ONE_CELL, **other).measurement != small.measurement
    assert FioDepths(block_kb=8).measurement != FioDepths().measurement


def test_what_came_later_is_as_it_was_before_it_came() -> None:
    old = Iozone(**ONE_CELL)
    assert "contents" not in old.values
    assert old.measurement == Iozone(**ONE_CELL, contents="pattern").measurement
