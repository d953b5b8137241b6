"""Distributions as (value, share) pairs, and several small charts in one figure."""

import math

import pytest

from fsbench_web.figures import bars, lines, panels
from fsbench_web.figures.lines import LINEAR, LOG, Line, Point
from fsbench_web.figures.palette import styles
from fsbench_web.figures.panels import Panel, SmallMultiple

TAIL = Line(
    "xfs",
    [
        Point(0.999, 9e6, (8e6, 1e7), link="/runs/1/"),
        Point(0.5, 1e6),
        Point(0.9, 2e6),
        Point(1.0, 3e7),
    ],
)


def test_each_further_nine_has_the_same_room() -> None:
    figure = lines.percentiles([TAIL], "ns", "Latency")
    [trace] = figure.data
    assert list(trace.x) == pytest.approx([-math.log10(0.5), 1, 3])
    assert list(trace.y) == [1000, 2000, 9000]  # µs; what is at most all has no place
    axis = figure.layout.xaxis
    assert list(axis.ticktext) == ["50%", "90%", "99%", "99.9%"]
    assert list(axis.tickvals) == pytest.approx([-math.log10(0.5), 1, 2, 3])
    assert trace.error_y.array[2] == 1000
    assert trace.meta["links"] == [None, None, "/runs/1/"]
    assert "xfs 1,000 µs at 50%, 9,000 µs at 99.9%" in figure.layout.meta["summary"]


def test_a_cumulative_distribution_has_the_same_pairs_the_other_way_round() -> None:
    [trace] = lines.percentiles([TAIL], "ns", "Latency", is_cdf=True).data
    assert list(trace.x) == [1000, 2000, 9000, 30000]
    assert list(trace.y) == pytest.approx([50, 90, 99.9, 100])
    assert trace.error_x.arrayminus[2] == 1000


def test_the_axis_of_values_is_as_it_is_asked_for() -> None:
    assert lines.percentiles([TAIL], "ns", "T").layout.yaxis.type == "log"
    assert lines.percentiles([TAIL], "ns", "T", scale=LINEAR).layout.yaxis.type == "linear"
    flat = Line("a", [Point(0.5, 1.0), Point(0.9, 2.0)])
    assert lines.percentiles([flat], "s", "T").layout.yaxis.type == "linear"
    assert lines.percentiles([flat], "s", "T", scale=LOG).layout.yaxis.type == "log"
    zero = Line("a", [Point(0.5, 0.0), Point(0.9, 2.0)])
    assert lines.percentiles([zero], "s", "T", scale=LOG).layout.yaxis.type == "linear"
    with pytest.raises(ValueError, match="more than 7"):
        lines.percentiles([Line(str(n), []) for n in range(8)], "s", "T", is_cdf=True)


def test_a_histogram_is_drawn_as_steps_that_can_be_seen() -> None:
    bins = [(float(value), value / 10_000) for value in range(1, 10_001)]
    whole = lines.of_histogram("xfs", bins)
    [steps] = lines.percentiles([whole], "ns", "Latency").data
    assert (steps.mode, steps.line.shape) == ("lines", "hv")
    assert len(steps.x) <= lines.MOST_POINTS
    assert steps.y[-1] == 9.999  # µs; what is at most all has no place
    curve = lines.percentiles([whole], "ns", "Latency", is_cdf=True)
    assert len(curve.data[0].x) <= lines.MOST_POINTS + 1
    assert (curve.data[0].x[-1], curve.data[0].y[-1]) == (10, 100)
    assert curve.layout.xaxis.type == "log"
    assert "xfs 5 µs at 50%, 9.9 µs at 99%, 9.99 µs at 99.9%" in curve.layout.meta["summary"]
    assert not curve.layout.showlegend
    two = [whole, lines.of_histogram("ext4", [(0.0, 0.5), (8.0, 1.0)])]
    assert lines.percentiles(two, "ns", "Latency", is_cdf=True).layout.showlegend


def test_rate_and_latency_stand_over_one_axis_and_a_contender_looks_alike_in_both() -> None:
    rate = Panel("Rate", "IOPS", False, [Line("xfs", [Point(1, 10), Point(16, 90)])])
    late = Panel("Latency", "ns", True, [Line("xfs", [Point(1, 1e5), Point(16, 2e5)])])
    figure = panels.stacked([rate, late], "queue depth", "T")
    above, below = figure.data
    assert (above.yaxis, below.yaxis) == ("y", "y2")
    assert list(above.x) == list(below.x) == [1, 16]
    assert list(below.y) == [100, 200]  # µs
    assert above.marker.symbol == below.marker.symbol == styles(["xfs"])[0].symbol
    assert (above.showlegend, below.showlegend) == (True, False)
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    # What a panel is of stands above it, and beside it the unit alone.
    titles = [note.text for note in figure.layout.annotations]
    assert titles[1] == "Latency, µs, less is better"
    assert figure.layout.yaxis2.title.text == "µs"
    tops = [figure.layout.yaxis.domain[1], figure.layout.yaxis2.domain[1]]
    assert [note.y for note in figure.layout.annotations] == tops


def test_small_charts_do_not_lie_on_each_other() -> None:
    points = [("xfs", Point(100, 0, None, "2 GiB/s", "/runs/1/")), ("ext4", Point(50, 0))]
    figure = panels.multiples(
        [SmallMultiple(f"Test {n}", points) for n in range(7)], "T", ["xfs", "jfs"]
    )
    places = [
        (figure.layout[f"xaxis{n}"].domain, figure.layout[f"yaxis{n}"].domain)
        for n in ("", *range(2, 8))
    ]
    for at, (x, y) in enumerate(places):
        assert 0 <= x[0] < x[1] <= 1
        assert 0 <= y[0] < y[1] <= 1
        for other_x, other_y in places[at + 1 :]:
            assert x[1] <= other_x[0] or y[0] >= other_y[1]
    # A row is as high as its letters.
    (low, high), height = places[0][1], figure.layout.height - 92
    assert (high - low) * height >= 2 * 18 - 1
    assert list(figure.data[0].marker.symbol) == [style.symbol for style in styles(["xfs", "ext4"])]
    assert figure.data[6].xaxis == "x7"
    assert figure.data[0].meta["panel_px"] > 0  # by which the browser puts them into fewer columns


def test_a_box_has_the_quartiles_that_are_defined_and_whiskers_to_repeats() -> None:
    # Hyndman and Fan (1996), definition 7: 1, 2, 3, 4, 100 has quartiles 2, 3 and 4.
    values = [3.0, 1.0, 4.0, 100.0, 2.0]
    assert bars.quartiles(values) == (2, 3, 4)
    five = bars.Strip("xfs", values, [""] * 5, [""] * 5, None)
    four = bars.Strip("ext4", values[:4], [""] * 4, [""] * 4, None)
    boxes = [trace for trace in bars.repeats([five, four], "s", "T").data if trace.type == "box"]
    [box] = boxes  # of four repeats there is none
    assert (box.lowerfence, box.upperfence) == ((1,), (4,))  # 100 is beyond 1.5 boxes
    assert (box.q1, box.median, box.q3) == ((2,), (3,), (4,))
