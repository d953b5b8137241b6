"""The LUN without a file system, over bars: one line, a mark on each bar, or only said."""

import pytest

from fsbench_web.figures.ceilings import Ceilings
from tests.figures.charts import best_case

OF = "random read of 4 KiB, queue depth 8"


def figure(values, ceilings, **more):
    labels = ["ext4", "xfs"]
    chart = best_case(labels, values, "KB/s", "Random read", ceilings=ceilings, **more)
    return chart.to_plotly_json()


def test_where_all_bars_have_the_same_ceiling_it_is_one_line_with_its_number() -> None:
    chart = figure([60.0, 80.0], Ceilings((100.0, 100.0), OF, ("60% of it", "80% of it")))
    [line] = chart["layout"]["shapes"]
    assert (line["x0"], line["x1"], line["y0"], line["y1"], line["yref"]) == (
        100,
        100,
        0,
        1,
        "paper",
    )
    assert chart["layout"]["xaxis"]["range"] == [0, pytest.approx(105)]
    [label] = [note for note in chart["layout"]["annotations"] if note.get("name") == "ceiling"]
    assert (label["x"], label["text"]) == (100, "the LUN itself 100.00 KB/s")
    caption = f"dashed: the LUN itself, {OF}: 100.00 KB/s"
    assert chart["layout"]["xaxis"]["title"]["text"].endswith(f"<br>{caption}")
    assert caption in chart["layout"]["meta"]["summary"]
    assert "60% of it" in chart["data"][0]["hovertemplate"][0]
    assert len(chart["data"]) == 1


def test_bars_of_several_luns_have_a_mark_each() -> None:
    chart = figure([60.0, 80.0], Ceilings((100.0, 120.0), OF))
    marks = chart["data"][-1]
    assert (marks["x"], marks["y"]) == ([100, 120], ["ext4", "xfs"])
    assert "shapes" not in chart["layout"]
    assert "grey marks" in chart["layout"]["xaxis"]["title"]["text"]
    # One that nobody measured the LUN of has none, and that is said.
    some = figure([60.0, 80.0], Ceilings((None, 120.0)))
    assert some["data"][-1]["y"] == ["xfs"]
    assert some["layout"]["xaxis"]["title"]["text"].endswith("of each bar; 1 without")


def test_a_ceiling_far_beyond_the_bars_leaves_them_their_room() -> None:
    chart = figure([6.0, 8.0], Ceilings((100.0, 100.0), OF))
    assert "shapes" not in chart["layout"]
    assert "range" not in chart["layout"]["xaxis"]
    assert chart["layout"]["xaxis"]["title"]["text"].endswith("100.00 KB/s, beyond this axis")
    # An interval makes the bars longer.
    sure = figure([6.0, 8.0], Ceilings((100.0, 100.0)), errors=[None, (4.0, 30.0)])
    assert len(sure["layout"]["shapes"]) == 1


def test_the_line_that_says_them_has_room_and_without_probes_nothing_changes() -> None:
    high, low = (figure([6.0, 8.0], Ceilings((each, None))) for each in (9.0, None))
    assert high["layout"]["height"] > low["layout"]["height"]
    assert figure([6.0, 8.0], Ceilings((None, None))) == figure([6.0, 8.0], None)
