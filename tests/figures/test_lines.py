import math

import pytest

from fsbench_web.figures import lines
from fsbench_web.figures.lines import Line, Point, curves


def test_a_curve_has_its_values_its_intervals_and_its_links() -> None:
    line = Line("ext3", [Point(8, 90.0, (80.0, 100.0), "mean of 3 runs", "/runs/?runs=1,2,3")])
    figure = curves([line], "ops/s", "Filemark", "threads")
    trace = figure.data[0]
    assert (list(trace.x), list(trace.y)) == ([8], [90.0])
    assert (list(trace.error_y.array), list(trace.error_y.arrayminus)) == ([10.0], [10.0])
    assert trace.meta["links"] == ["/runs/?runs=1,2,3"]
    assert "95% interval 80 to 100" in trace.customdata[0]
    assert "ops/s, more is better" in figure.layout.yaxis.title.text
    assert figure.layout.xaxis.title.text == "threads"


def test_what_another_line_has_and_this_one_lacks_is_a_gap() -> None:
    a = Line("a", [Point(1, 10.0), Point(2, 20.0), Point(4, 40.0)])
    b = Line("b", [Point(1, 11.0), Point(4, 41.0)])
    trace = curves([a, b], "KB/s", "Read", "file size").data[1]
    assert list(trace.y) == [11.0, None, 41.0]
    assert trace.connectgaps is False
    assert trace.meta["links"] == ["", None, ""]


def test_wide_ranges_are_logarithmic_and_say_so() -> None:
    figure = curves([Line("a", [Point(1, 1.0), Point(128, 900.0)])], "ops/s", "T", "threads")
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert figure.layout.xaxis.title.text == "threads (log)"
    assert figure.layout.yaxis.title.text.endswith("(log)")
    assert list(figure.layout.xaxis.tickvals) == [1, 128]


def test_an_interval_that_reaches_zero_keeps_the_axis_linear() -> None:
    points = [Point(1, 1.0, (-1.0, 3.0)), Point(2, 100.0)]
    assert curves([Line("a", points)], "ops/s", "T", "threads").layout.yaxis.type == "linear"


def test_intervals_of_several_lines_stand_side_by_side_around_their_place() -> None:
    def line(name: str) -> Line:
        return Line(name, [Point(x, 10.0, (9.0, 11.0)) for x in (64, 128, 1024)])

    for names in (["a", "b"], ["a", "b", "c"]):
        figure = curves([line(name) for name in names], "KB/s", "Write", "file size")
        drawn = [list(trace.x) for trace in figure.data]
        assert len({tuple(x) for x in drawn}) == len(names)
        for place, size in enumerate((64, 128, 1024)):
            at = [x[place] for x in drawn]
            assert at == sorted(at)
            assert math.prod(at) ** (1 / len(at)) == pytest.approx(size)
            assert size / 1.2 < at[0] < at[-1] < size * 1.2
        assert list(figure.layout.xaxis.tickvals) == [64, 128, 1024]
        assert "file size" not in str(figure.data[0].customdata)
    linear = curves(
        [Line(name, [Point(1, 1.0, (0.9, 1.1)), Point(2, 2.0)]) for name in "ab"], "s", "T", "x"
    )
    assert [sum(at) for at in zip(*(t.x for t in linear.data), strict=True)] == pytest.approx(
        [2, 4]
    )


def test_one_line_or_lines_without_intervals_are_drawn_where_they_are() -> None:
    sure = Line("a", [Point(1, 10.0, (9.0, 11.0)), Point(2, 10.0)])
    plain = Line("b", [Point(1, 10.0), Point(2, 10.0)])
    for lines_ in ([sure], [sure, plain], [plain, plain]):
        figure = curves(lines_, "KB/s", "T", "threads")
        assert {tuple(trace.x) for trace in figure.data} == {(1, 2)}


def test_an_interval_below_zero_is_cut_there_and_the_axis_says_so() -> None:
    points = [Point(1, 1.0, (-1.0, 3.0)), Point(2, 100.0)]
    axis = curves([Line("a", points)], "ops/s", "T", "threads").layout.yaxis
    assert list(axis.range) == [0, 105.0]
    assert axis.title.text.endswith(lines.CUT)
    above = curves([Line("a", [Point(1, 1.0, (0.0, 3.0))])], "ops/s", "T", "threads").layout.yaxis
    assert above.range is None
    assert lines.CUT not in above.title.text


def test_times_say_that_less_is_better() -> None:
    figure = curves([Line("a", [Point(1, 1.0)])], "s", "T", "threads", lower_is_better=True)
    assert "less is better" in figure.layout.yaxis.title.text


def test_lines_differ_in_shape_also_where_file_systems_do_not() -> None:
    named = [Line("ext3_wb", [Point(1, 1.0)]), Line("ext3_ord", [Point(1, 2.0)])]
    traces = curves(named, "ops/s", "T", "threads").data
    assert len({trace.meta["series"] for trace in traces}) == 2
    assert len({trace.marker.symbol for trace in traces}) == 2
    assert len({trace.line.dash for trace in traces}) == 2


def test_more_lines_than_colours_are_refused() -> None:
    with pytest.raises(ValueError, match="too many to distinguish"):
        curves([Line(str(n), []) for n in range(lines.MOST_LINES + 1)], "s", "T", "x")


def test_text_of_an_import_is_no_markup() -> None:
    figure = curves([Line("<b>x</b>", [Point(1, 1.0)])], "<i>", "<u>", "<s>")
    assert figure.data[0].name == "&lt;b>x&lt;/b>"
    assert "<i>" not in figure.layout.yaxis.title.text


def test_nanoseconds_are_drawn_as_the_microseconds_that_are_written() -> None:
    line = Line("a", [Point(1, 2_000_000.0, (1_900_000.0, 2_200_000.0))])
    figure = curves([line], "ns", "T", "threads", lower_is_better=True)
    trace = figure.data[0]
    assert list(trace.y) == [2000.0]
    assert list(trace.error_y.array) == [200.0]
    assert figure.layout.yaxis.title.text.startswith("µs, ")
    assert "2,000 µs" in trace.customdata[0]


def test_a_phase_that_one_has_not_is_a_gap_and_nothing_is_joined() -> None:
    first = Line("ext4", [Point(0, 2.0, (1.0, 3.0), "two runs", "/runs/?runs=1,2")])
    second = Line("xfs", [Point(0, 4.0), Point(1, 5.0)])
    drawn = lines.phases([first, second], ["create", "read"], "s", "Mongo")
    assert [list(trace.y) for trace in drawn.data] == [[2.0, None], [4.0, 5.0]]
    assert {trace.mode for trace in drawn.data} == {"markers"}
    # Beside each other, around the phase's own place.
    assert [trace.x[0] for trace in drawn.data] == pytest.approx([-0.15, 0.15])
    assert list(drawn.data[0].error_y.array) == [1.0, None]
    assert list(drawn.data[0].meta["links"]) == ["/runs/?runs=1,2", None]
    assert "95% interval 1 to 3" in drawn.data[0].customdata[0]
    assert "ext4 2 s; xfs 4 to 5 s" in drawn.layout.meta["summary"]
