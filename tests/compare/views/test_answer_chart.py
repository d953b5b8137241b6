"""The chart of the answer in pages: places, tones, words, and nothing that overlaps."""

import re
from itertools import pairwise

import pytest
from django.template.loader import render_to_string

from fsbench_web.core.comparison.answer_shown import MOST_ROWS, answer_chart, shortened
from fsbench_web.core.stats.answers import FASTER, INCONCLUSIVE, Answer, Standing


def answer(*standings: Standing, status: str = INCONCLUSIVE) -> Answer:
    names = tuple(one.entry for one in standings)
    return Answer(
        *(status, names, names[-1], standings, ("read", "write"), None, {}, {}, 1.0, None),
        repeats=(3, 3),
    )


@pytest.mark.parametrize("ratio", [1.0, 1.01, 1.3, 15.84, 12345.0, 0.002])
def test_no_mark_lies_on_a_name_or_a_number(ratio: float) -> None:
    chart = answer_chart(
        answer(Standing("xfs", ratio, ratio / 3, ratio * 3), Standing("ext4", 1.0))
    )
    places = [place for row in chart.rows for place in (row.x, row.low_x, row.high_x) if place]
    assert min(places) - 5 > 104
    assert max(places) + 5 < 340 - 7 * max(len(row.value) for row in chart.rows)
    xs = [tick.x for tick in chart.ticks]
    assert 1 in [tick.ratio for tick in chart.ticks]
    assert all(right - left > 32 for left, right in pairwise(xs))


def test_tones_follow_the_intervals_and_places_the_ratios() -> None:
    chart = answer_chart(
        answer(
            Standing("xfs", 1.09, 1.06, 1.12),
            Standing("jfs", 1.01, 0.97, 1.05),
            Standing("ext4", 1.0),
            Standing("btrfs", 0.69, 0.65, 0.73),
            status=FASTER,
        )
    )
    assert [row.tone for row in chart.rows] == ["faster", "even", "even", "slower"]
    assert [row.is_leader for row in chart.rows] == [True, False, False, False]
    assert [row.x for row in chart.rows] == sorted((row.x for row in chart.rows), reverse=True)
    baseline = next(tick for tick in chart.ticks if tick.ratio == 1)
    assert chart.rows[2].x == baseline.x
    assert chart.title.endswith(
        "xfs 1.09 times, 1.06 to 1.12; jfs 1.01 times, 0.97 to 1.05; ext4 1.00 times; "
        "btrfs 0.69 times, 0.65 to 0.73."
    )


def test_the_svg_has_a_name_a_row_per_entry_and_escapes_them() -> None:
    entries = [Standing(f"<b>_{number:02}", 2.0 - number / 10) for number in range(MOST_ROWS + 3)]
    text = render_to_string("compare/answer_chart.html", {"chart": answer_chart(answer(*entries))})
    assert 'role="img"' in text
    assert "<title>Speed relative to" in text
    assert "<b>" not in text
    assert len(re.findall("data-entry=", text)) == MOST_ROWS
    assert "3 slower ones not shown" in text


def test_long_names_can_still_be_told_apart() -> None:
    names = {shortened(f"ext3_writeback_noatime@{end}", 13) for end in ("one", "two")}
    assert len(names) == 2
    assert max(map(len, names)) == 13
