import pytest

from fsbench_web.core.stats.intervals import interval
from fsbench_web.figures import bars
from fsbench_web.figures.bars import Strip


def test_every_repeat_is_a_point_that_leads_to_its_run() -> None:
    values = [10.0, 12.0]
    ext3 = Strip(
        "ext3",
        values,
        ["/runs/1/", "/runs/2/"],
        ["run 1", "run 2"],
        interval(values),
        "/runs/?runs=1,2",
    )
    xfs = Strip("xfs", [20.0], ["/runs/3/"], ["run 3"], None)
    figure = bars.repeats([ext3, xfs], "KB/s", "Read")
    points, means = figure.data
    assert list(points.x) == [10.0, 12.0, 20.0]
    assert list(points.y) == ["ext3", "ext3", "xfs"]
    assert points.meta["links"] == ["/runs/1/", "/runs/2/", "/runs/3/"]
    assert list(means.x) == [11.0]
    assert means.meta["links"] == ["/runs/?runs=1,2"]
    assert means.error_x.array[0] == pytest.approx(interval(values).half_width)
    assert "KB/s, more is better" in figure.layout.xaxis.title.text


def test_a_single_run_has_no_mean_of_repeats() -> None:
    figure = bars.repeats([Strip("xfs", [20.0], ["/runs/3/"], [""], None)], "s", "T", True)
    assert len(figure.data) == 1
    assert "less is better" in figure.layout.xaxis.title.text


def test_a_strip_with_a_link_too_few_is_refused() -> None:
    with pytest.raises(ValueError, match="every repeat"):
        bars.repeats([Strip("xfs", [20.0], [], [""], None)], "s", "T")
