import pytest

from fsbench_web.figures.lines import MOST_LINES, Line, Point, phases


def test_a_phase_that_one_has_not_is_a_gap_and_nothing_is_joined() -> None:
    first = Line("ext4", [Point(0, 2.0, (1.0, 3.0), "two runs", "/runs/?runs=1,2")])
    second = Line("xfs", [Point(0, 4.0), Point(1, 5.0)])
    drawn = phases([first, second], ["create", "read"], "s", "Mongo")
    assert [list(trace.y) for trace in drawn.data] == [[2.0, None], [4.0, 5.0]]
    assert {trace.mode for trace in drawn.data} == {"markers"}
    # Beside each other, around the phase's own place.
    assert [trace.x[0] for trace in drawn.data] == pytest.approx([-0.15, 0.15])
    assert list(drawn.data[0].error_y.array) == [1.0, None]
    assert list(drawn.data[0].meta["links"]) == ["/runs/?runs=1,2", None]
    assert "95% interval 1 to 3" in drawn.data[0].customdata[0]
    assert "ext4 2 s; xfs 4 to 5 s" in drawn.layout.meta["summary"]


def test_too_many_are_refused() -> None:
    with pytest.raises(ValueError, match="told apart"):
        phases([Line(str(n), []) for n in range(MOST_LINES + 1)], [], "s", "T")


def test_text_of_an_import_is_no_markup() -> None:
    drawn = phases([Line("<b>x</b>", [Point(0, 1.0)])], ["<i>p</i>"], "s", "<u>T</u>")
    assert "<b>" not in drawn.data[0].name
    assert "<i>" not in drawn.layout.xaxis.ticktext[0]
