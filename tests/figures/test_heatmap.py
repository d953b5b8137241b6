import math

from fsbench_web.figures import heatmap


def test_a_cell_that_was_not_measured_stays_blank() -> None:
    figure = heatmap.matrix({(4, 64): 10.0, (8, 64): None, (4, 128): 20.0}, "KB/s", "Write")
    trace = figure.data[0]
    assert list(trace.x) == ["64 KB", "128 KB"]
    assert list(trace.y) == ["4 KB", "8 KB"]
    assert [list(row) for row in trace.z] == [[10.0, 20.0], [None, None]]
    assert trace.hoverongaps is False


def test_sizes_are_in_order_of_size_and_not_of_text() -> None:
    figure = heatmap.matrix({(64, 1024): 1.0, (1024, 2048): 2.0, (4, 512): 3.0}, "KB/s", "Read")
    assert list(figure.data[0].y) == ["4 KB", "64 KB", "1 MB"]
    assert list(figure.data[0].x) == ["512 KB", "1 MB", "2 MB"]


def test_a_wide_range_is_coloured_by_its_logarithm_and_says_so() -> None:
    figure = heatmap.matrix({(4, 64): 100.0, (4, 128): 10000.0}, "KB/s", "Read")
    trace = figure.data[0]
    assert list(trace.z[0]) == [2.0, 4.0]
    assert "log" in trace.colorbar.title.text
    assert list(trace.customdata[0]) == ["100.00 KB/s", "10,000.00 KB/s"]
    ticks = [10**value for value in trace.colorbar.tickvals]
    assert all(100 <= round(tick) <= 10000 for tick in ticks)


def test_a_zero_among_the_values_keeps_the_scale_linear() -> None:
    figure = heatmap.matrix({(4, 64): 0.0, (4, 128): 10000.0}, "KB/s", "Read")
    assert list(figure.data[0].z[0]) == [0.0, 10000.0]


def test_maps_that_share_limits_share_a_scale() -> None:
    figure = heatmap.matrix({(4, 64): 100.0}, "KB/s", "Read", limits=(10.0, 1000.0))
    assert math.isclose(figure.data[0].zmin, 1.0)
    assert math.isclose(figure.data[0].zmax, 3.0)


def test_times_are_brightest_when_they_are_short() -> None:
    assert heatmap.matrix({(4, 64): 1.0}, "s", "Read", lower_is_better=True).data[0].reversescale


def test_a_matrix_without_values_says_so() -> None:
    figure = heatmap.matrix({(4, 64): None}, "KB/s", "Read")
    assert "without any value" in figure.layout.meta["summary"]
    assert heatmap.matrix({}, "KB/s", "Read").layout.meta["summary"]


def test_cells_are_labelled_while_there_is_room() -> None:
    small = heatmap.matrix({(4, 64): 1.0}, "KB/s", "Read")
    assert small.data[0].texttemplate
    large = heatmap.matrix({(r, f): 1.0 for r in range(1, 13) for f in range(1, 13)}, "KB/s", "R")
    assert large.data[0].texttemplate is None
