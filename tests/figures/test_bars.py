import json

from fsbench_web.figures import bars, heatmap
from fsbench_web.figures.bars import Halves
from tests.figures.charts import best_case


def test_all_that_tie_for_best_are_marked_in_words() -> None:
    figure = best_case(["ext3", "jfs", "xfs"], [4.0, 4.0, 3.0], "KB/s", "Read")
    assert list(figure.data[0].text) == ["<b>4.00 best</b>", "<b>4.00 best</b>", "3.00"]


def test_the_least_time_is_best() -> None:
    figure = best_case(["a", "b"], [2.04, 240.0], "s", "mkfs", lower_is_better=True)
    assert "best" in figure.data[0].text[0]
    assert "best" not in figure.data[0].text[1]
    assert "less is better" in figure.layout.xaxis.title.text
    assert "less is better" in figure.layout.meta["summary"]


def test_an_interval_is_drawn_around_its_own_middle_and_not_around_the_score() -> None:
    """A maximum of two repeats is the larger one: the mean of both is below its bar's end."""
    figure = best_case(["a", "b"], [20.0, 10.0], "KB/s", "W", errors=[(12.0, 18.0), None])
    whiskers = figure.data[1]
    assert list(whiskers.x) == [15.0]
    assert list(whiskers.error_x.array) == [3.0]
    assert list(whiskers.y) == ["a"]
    assert figure.data[0].error_x.array is None
    assert "95% interval 12.00 to 18.00 KB/s" in figure.layout.meta["summary"]
    assert "95% intervals" in figure.layout.xaxis.title.text


def test_numbers_do_not_stand_on_bars_where_intervals_would_cross_them() -> None:
    """static/js/figures.js writes them beside the plot then."""
    figure = best_case(["a", "b"], [20.0, 10.0], "KB/s", "W", errors=[(12.0, 18.0), None])
    assert figure.data[0].textposition == "none"
    assert list(figure.data[0].text) == ["<b>20.00 best</b>", "10.00"]
    plain = best_case(["a", "b"], [20.0, 10.0], "KB/s", "W")
    assert plain.data[0].textposition == "auto"


def test_an_interval_that_reaches_below_zero_is_cut_there_and_the_axis_says_so() -> None:
    figure = best_case(["a"], [20.0], "KB/s", "W", errors=[(-5.0, 40.0)])
    assert list(figure.layout.xaxis.range) == [0, 42.0]
    assert figure.layout.xaxis.title.text.endswith(bars.CUT)
    # What is cut is drawn only: the numbers of the interval stay as they are.
    assert "-5.00 to 40.00" in figure.layout.meta["summary"]
    above = best_case(["a"], [20.0], "KB/s", "W", errors=[(5.0, 40.0)])
    assert above.layout.xaxis.range is None
    assert bars.CUT not in above.layout.xaxis.title.text
    negative = best_case(["a"], [-20.0], "points", "W", errors=[(-25.0, -15.0)])
    assert negative.layout.xaxis.range is None


def test_without_intervals_nobody_speaks_of_them() -> None:
    figure = best_case(["a"], [20.0], "KB/s", "W", errors=[None])
    assert len(figure.data) == 1
    assert "interval" not in figure.layout.xaxis.title.text


def test_a_label_is_text_and_never_markup() -> None:
    label = '<a href="https://example.org">x</a> %{x}'
    figure = best_case([label], [1.0], "KB/s", label)
    for text in (figure.data[0].y[0], figure.layout.title.text, figure.data[0].hovertemplate[0]):
        assert "<a" not in text
        assert "%{x}" not in text or text == figure.data[0].y[0]


def test_a_unit_is_text_and_never_markup() -> None:
    """Tables bring their own units; any text that ends in /s is a rate."""
    unit = "<b>x</b> %{x}/s"
    for figure in (
        best_case(["ext3"], [1.0], unit, "Write"),
        bars.stated_values(["ext3"], [1.0], [False], unit, "Write"),
        bars.read_write([Halves("ext3", 1.0, 2.0)], unit, "Both"),
        heatmap.matrix({(4, 64): 1.0}, unit, "Write"),
    ):
        layout = figure.to_plotly_json()["layout"]
        del layout["meta"]  # the text alternative is HTML, and escaped there
        drawn = json.dumps([figure.to_plotly_json()["data"], layout])
        assert "/s" in drawn
        assert "<b>x" not in drawn
        assert "% {x}" in drawn


def test_a_lower_bound_is_hatched_and_says_more_than() -> None:
    figure = bars.stated_values(
        ["jfs", "ext2", "xfs"], [2.04, 240.0, None], [False, True, False], "s", "m"
    )
    assert list(figure.data[0].text) == ["2.04 s", "more than 240 s", "not stated"]
    assert list(figure.data[0].marker.pattern.shape) == ["", "/", ""]
    assert figure.data[0].x[2] is None
    assert [note.text for note in figure.layout.annotations] == ["not stated"]
    assert "xfs not stated" in figure.layout.meta["summary"]


PAIRS = [Halves("a", 1.0, 5.0), Halves("b", 2.0, 9.0), Halves("c", None, 99.0)]


def test_stacks_come_largest_sum_first_and_the_incomplete_last() -> None:
    figure = bars.read_write(PAIRS, "KB/s", "T")
    assert list(figure.data[0].y) == ["b", "a", "c"]
    assert list(figure.data[0].x) == [2.0, 1.0, None]
    assert "c write – plus read 99.00 KB/s is –." in figure.layout.meta["summary"]


def test_a_stack_says_its_sum_and_an_incomplete_one_has_none() -> None:
    figure = bars.read_write(PAIRS, "KB/s", "T")
    sums = [(note.y, note.x, note.text) for note in figure.layout.annotations]
    assert sums == [("b", 11.0, "<b>11</b>"), ("a", 6.0, "<b>6</b>")]


def test_figures_do_not_carry_the_template_of_plotly() -> None:
    figure = best_case(["a"], [1.0], "KB/s", "T")
    assert "template" not in figure.to_plotly_json()["layout"]


def test_long_labels_stand_in_lines_and_are_whole_on_the_bar() -> None:
    label = "ext4_wb_noatime_b4096_i512_nodirindex_j64m_nobarrier_noop"
    figure = best_case(["xfs", label], [2.0, 1.0], "KB/s", "Write")
    axis = figure.layout.yaxis
    assert list(axis.tickvals) == ["xfs", label]
    lines = [text.strip() for text in axis.ticktext[1].split("<br>")]
    assert lines == ["ext4_wb_noatime_b4096_", "i512_nodirindex_j64m_", "nobarrier_noop"]
    assert list(figure.data[0].y) == ["xfs", label]
    assert label in figure.data[0].hovertemplate[1]
    # Three lines of 12 px need more than the row of one.
    short = best_case(["xfs"] * 9, [1.0] * 9, "KB/s", "Write")
    long = best_case([label] * 9, [1.0] * 9, "KB/s", "Write")
    assert long.layout.height >= short.layout.height + 9 * 16


def test_what_no_line_can_hold_is_cut() -> None:
    assert bars.in_lines("a_" * 60).count("\n") == 2
    assert bars.in_lines("a_" * 60).endswith("…")
    assert bars.in_lines("x" * 200) == "x" * 48 + "…"
    assert bars.in_lines("ext4_noop") == "ext4_noop"


def test_seconds_on_bars_align() -> None:
    figure = best_case(["xfs", "ext2"], [29.4, 5.99], "s", "Copy", lower_is_better=True)
    assert list(figure.data[0].text) == ["29.40", "<b>5.99 best</b>"]


def test_a_mean_of_repeats_has_each_of_them_as_a_dot_and_says_its_score_too() -> None:
    """Two maxima of 12 and 18 ms: the score is the lesser, the bar what a test is of."""
    chart = best_case(
        ["a", "b"],
        [15e3, 9e3],
        "µs",
        "L",
        True,
        errors=[(10e3, 20e3), None],
        links=["/runs/?ids=1,2", "/runs/3/"],
        repeats=[(12e3, 18e3), None],
        scores=[12e3, None],
    ).to_plotly_json()
    bar, whiskers, dots = chart["data"]
    # The bar ends in the middle of its interval, and the repeats are on it.
    assert bar["x"] == [15000.0, 9000.0]
    assert whiskers["x"] == [15000.0]
    assert (dots["x"], dots["y"]) == ([12000.0, 18000.0], ["a", "a"])
    assert dots["meta"] == {"role": "repeats", "links": ["/runs/?ids=1,2"] * 2}
    assert bar["hovertemplate"] == [
        "a<br>mean of 2 repeats 15,000 µs<br>score 12,000 µs<br>"
        "95% interval 10,000 to 20,000 µs<extra></extra>",
        "b<br>9,000 µs<extra></extra>",
    ]
    title = chart["layout"]["xaxis"]["title"]["text"]
    assert title.endswith(
        "bars: means of repeats, dots: repeats, lines: 95% intervals of the means"
    )
    assert "a mean of 2 repeats 15,000 µs, 95% interval" in chart["layout"]["meta"]["summary"]
    assert "score 12,000 µs; b 9,000 µs (best)." in chart["layout"]["meta"]["summary"]


def test_more_dots_than_a_figure_holds_are_not_drawn_and_not_spoken_of() -> None:
    many = [tuple([1.0] * (bars.MOST_DOTS + 1))]
    chart = best_case(["a"], [1.0], "s", "T", errors=[(1.0, 1.0)], repeats=many)
    assert [trace.meta.get("role") for trace in chart.data] == [None, "interval"]
    assert bars.DOTS not in chart.layout.xaxis.title.text
