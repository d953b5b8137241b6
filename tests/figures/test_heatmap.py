import itertools
import math

import pytest

from fsbench_web.figures import heatmap
from fsbench_web.figures.heatmap import size_axis


def test_a_cell_that_was_not_measured_stays_blank() -> None:
    figure = heatmap.matrix({(4, 64): 10.0, (8, 64): None, (4, 128): 20.0}, "KB/s", "Write")
    trace = figure.data[0]
    assert list(figure.layout.xaxis.ticktext) == ["64 KB", "128 KB"]
    assert list(figure.layout.yaxis.ticktext) == ["4 KB", "8 KB"]
    assert [list(row) for row in trace.z] == [[10.0, 20.0], [None, None]]
    assert trace.hoverongaps is False


def test_sizes_are_in_order_of_size_and_not_of_text() -> None:
    figure = heatmap.matrix({(64, 1024): 1.0, (1024, 2048): 2.0, (4, 512): 3.0}, "KB/s", "Read")
    assert list(figure.layout.yaxis.ticktext) == ["4 KB", "64 KB", "1 MB"]
    assert list(figure.layout.xaxis.ticktext) == ["512 KB", "1 MB", "2 MB"]


def test_both_axes_are_logarithmic_and_a_gap_is_not_painted_over() -> None:
    figure = heatmap.matrix({(4, 64): 1.0, (4, 128): 2.0, (4, 1000): 3.0}, "KB/s", "Read")
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert "log" in figure.layout.xaxis.title.text
    trace = figure.data[0]
    assert [list(row) for row in trace.z] == [[1.0, 2.0, None, 3.0]]
    assert len(trace.x) == 5
    assert trace.x[1] == pytest.approx(math.sqrt(64 * 128))
    assert trace.x[3] == pytest.approx(1000 / math.sqrt(2))


def test_an_axis_of_one_size_is_a_doubling_wide() -> None:
    axis = size_axis([8])
    assert axis.columns == (8,)
    assert axis.edges[1] / axis.edges[0] == pytest.approx(2)


def test_a_wide_range_is_coloured_by_its_logarithm_and_says_so() -> None:
    figure = heatmap.matrix({(4, 64): 100.0, (4, 128): 10000.0}, "KB/s", "Read")
    trace = figure.data[0]
    assert list(trace.z[0]) == [2.0, 4.0]
    assert "log" in trace.colorbar.title.text
    assert list(trace.customdata[0]) == [
        "block 4 KB, file 64 KB<br>100.00 KB/s",
        "block 4 KB, file 128 KB<br>10,000.00 KB/s",
    ]
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
    assert "no value" in figure.layout.meta["summary"]
    assert heatmap.matrix({}, "KB/s", "Read").layout.meta["summary"]


def test_cells_are_labelled_while_there_is_room() -> None:
    small = heatmap.matrix({(4, 64): 1.0}, "KB/s", "Read")
    assert small.data[1].mode == "text"
    assert list(small.data[1].text) == ["1"]
    large = heatmap.matrix({(r, f): 1.0 for r in range(1, 13) for f in range(1, 13)}, "KB/s", "R")
    assert len(large.data) == 1


def test_each_label_reads_on_its_cell() -> None:
    for stops in (heatmap.VIRIDIS, heatmap.DIVERGING):
        for hundredth in range(101):
            back = heatmap.luminance(heatmap.colour_at(stops, hundredth / 100))
            text = 0.0 if heatmap.text_on(stops, hundredth / 100) == "#000000" else 1.0
            assert (max(back, text) + 0.05) / (min(back, text) + 0.05) >= 4.5
    fast_and_slow = heatmap.matrix({(4, 64): 1.0, (4, 128): 100.0}, "KB/s", "Read")
    assert list(fast_and_slow.data[1].textfont.color) == ["#ffffff", "#000000"]
    times = heatmap.matrix({(4, 64): 1.0, (4, 128): 100.0}, "s", "Read", lower_is_better=True)
    assert list(times.data[1].textfont.color) == ["#000000", "#ffffff"]


def test_a_click_on_a_cell_has_somewhere_to_go() -> None:
    cells = {(4, 64): 1.0, (8, 64): 2.0, (8, 256): 3.0}
    links = {cell: f"/runs/{cell[0]}{cell[1]}/" for cell in cells}
    trace = heatmap.matrix(cells, "KB/s", "Read", links=links).data[0]
    assert trace.meta["links"] == [
        ["/runs/464/", None, None],
        ["/runs/864/", None, "/runs/8256/"],
    ]
    assert heatmap.matrix(cells, "KB/s", "Read").data[0].meta is None


def test_a_ratio_diverges_around_one() -> None:
    figure = heatmap.ratio({(4, 64): 2.0, (4, 128): 0.25, (4, 256): 1.0}, "a", "b", "Read: a / b")
    trace = figure.data[0]
    assert list(trace.z[0]) == [1.0, -2.0, 0.0]
    assert (trace.zmin, trace.zmax) == (-2.0, 2.0)
    assert "1" in trace.colorbar.ticktext
    assert trace.colorbar.tickvals[list(trace.colorbar.ticktext).index("1")] == 0
    assert "a is faster in 1; b is faster in 1" in figure.layout.meta["summary"]


def test_a_small_ratio_is_not_written_as_zero() -> None:
    figure = heatmap.ratio({(4, 64): 0.0004, (4, 128): 1.5}, "a", "b", "Read: a / b")
    summary = figure.layout.meta["summary"]
    assert "the ratio lies between 0.0004 and 1.500." in summary
    assert any("0.0004 ×" in text for row in figure.data[0].customdata for text in map(str, row))


def test_small_differences_do_not_fill_the_scale() -> None:
    trace = heatmap.ratio({(4, 64): 1.01}, "a", "b", "Read").data[0]
    assert trace.zmax == math.log2(1.25)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_ratio_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        heatmap.ratio({(4, 64): value}, "a", "b", "Read")


@pytest.mark.parametrize("widest", [1.25, 1.6, 2.0, 2.71, 3.2, 8.0, 20.0, 50.0, 300.0, 1e6, 1e9])
def test_the_scale_of_ratios_has_ticks_that_one_says_and_that_do_not_touch(widest: float) -> None:
    figure = heatmap.ratio({(4, 64): widest, (4, 128): 1.0}, "a", "b", "Read: a / b")
    at, words = figure.data[0].colorbar.tickvals, list(figure.data[0].colorbar.ticktext)
    assert words[len(words) // 2] == "1"
    assert list(at) == pytest.approx([-value for value in reversed(at)])
    assert len(words) == len(set(words)) >= 3
    assert max(at) <= math.log2(widest) + 1e-9
    assert min(b - a for a, b in itertools.pairwise(at)) >= 0.17 * math.log2(widest)


def test_a_ratio_of_two_and_a_half_is_told_by_halves_and_doubles() -> None:
    ticks = heatmap.ratio({(4, 64): 2.71}, "a", "b", "Read").data[0].colorbar.ticktext
    assert list(ticks) == ["0.5", "0.667", "0.8", "1", "1.25", "1.5", "2"]


def test_one_cell_is_one() -> None:
    meta = heatmap.matrix({(4, 64): 7.0}, "KB/s", "Write").layout.meta
    assert "heat map of 1 cell, " in str(meta)
