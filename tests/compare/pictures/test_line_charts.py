"""The LUN itself as a ceiling over contenders: its look, and what is said where it is missing."""

import pytest

from fsbench_web.compare.pictures import line_charts
from fsbench_web.core.scoring.shares import NOT_OF_THE_DISK_PERCENT
from fsbench_web.figures import lines
from fsbench_web.figures.ceilings import COLOUR
from fsbench_web.figures.lines import Line, Point
from runner.agent.preparation import probe

OWN = Line(line_charts.LUN_ITSELF, [Point(512.0, 200.0), Point(1024.0, 400.0)], is_ceiling=True)
EXT4 = Line("ext4", [Point(4.0, 10.0), Point(512.0, 190.0), Point(1024.0, 900.0)])
NAMES = {4.0: "4 KB", 64.0: "64 KB", 512.0: "512 KB", 1024.0: "1 MB"}


def test_a_ceiling_is_grey_and_takes_no_contenders_colour() -> None:
    alone = lines.curves([EXT4], "KB/s", "Write", "block size", among=["ext4"])
    both = lines.curves([OWN, EXT4], "KB/s", "Write", "block size", among=["ext4", OWN.name])
    ceiling, ext4 = both.data
    # Pages colour by meta.series (static/js/figures.js), whatever the figure says.
    assert "series" not in ceiling.meta
    assert (ceiling.line.color, ceiling.line.dash) == (COLOUR, "dash")
    assert ext4.meta["series"] == alone.data[0].meta["series"]
    assert ext4.line.color is None


def test_sizes_without_a_ceiling_are_named() -> None:
    assert line_charts.missing_note([OWN], [512.0, 1024.0], NAMES) == ""
    assert line_charts.missing_note([], [4.0], NAMES) == ""
    note = line_charts.missing_note([OWN], list(NAMES), NAMES)
    assert "requests of 4 KB and 64 KB was measured" in note
    assert f"given {probe.ALL_POINTS_FROM_S} seconds or more" in note


@pytest.mark.parametrize(
    ("value", "words"),
    [(400 * NOT_OF_THE_DISK_PERCENT / 100, ""), (900.0, "1 of 2 points lie above")],
)
def test_points_above_the_ceiling_are_counted(value: float, words: str) -> None:
    line = Line("ext4", [*EXT4.points[:2], Point(1024.0, value)])
    note = line_charts.above_note([OWN], [line])
    assert note.startswith(words) if words else note == ""
    assert line_charts.above_note([OWN, OWN], [line]) == ""
