"""A contender looks the same in every chart, whoever is beside it and however good it is."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.compare.pictures.scores import MOST_ROWS
from fsbench_web.figures import palette
from fsbench_web.figures.lines import MOST_LINES
from fsbench_web.figures.palette import assigned, styles
from fsbench_web.figures.panels import MOST_PANELS

# G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, IEEE TVCG 15(6), 2009: severity 1.0.
SEEN_BY = {
    "everybody": np.eye(3),
    "protanopes": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopes": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopes": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


SHEET = Path(__file__).parents[2] / "static/css/fsbench.css"
LIGHT = dict(re.findall(r"--series-(\d): (#\w{6})", SHEET.read_text())[: palette.MOST])
"""By number: those of light pages come first in the style sheet."""


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.072175],
            [0.0193339, 0.119192, 0.9503041],
        ]
    )
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_ext2_and_ext3_are_told_apart_in_colour_in_grey_and_without_either() -> None:
    ext2, ext3 = styles(["ext2", "ext3"])
    for who, matrix in SEEN_BY.items():
        apart = lab(matrix @ linear(LIGHT[str(ext2.series)])) - lab(
            matrix @ linear(LIGHT[str(ext3.series)])
        )
        assert np.linalg.norm(apart) > 20, who
    lightness = [lab(linear(LIGHT[str(style.series)]))[0] for style in (ext2, ext3)]
    assert abs(lightness[0] - lightness[1]) > 20
    assert ext2.symbol != ext3.symbol
    assert ext2.dash != ext3.dash


def test_neither_company_nor_place_changes_how_a_file_system_looks() -> None:
    every = ["ext2", "ext3", "ext4", "xfs", "jfs", "btrfs", "reiserfs"]
    for count in (1, 3, 7):
        for some in itertools.permutations(every, count) if count < 7 else [every[::-1]]:
            assert dict(zip(some, styles(some), strict=True)) == {
                name: assigned(every)[name] for name in some
            }


@pytest.mark.parametrize("others", [["xfs", "zfs"], ["ext3", "f2fs"], ["reiser3", "bcachefs"]])
def test_of_few_no_two_have_one_colour_and_the_older_keeps_its_own(others: list[str]) -> None:
    older, newer = styles([*others, "ext4", "btrfs"])[:2]
    assert older == styles([others[0]])[0]
    assert newer.series != older.series
    assert len({style.series for style in styles([*others, "ext4", "btrfs"])}) == 4


def test_a_chart_of_some_has_the_looks_of_the_page() -> None:
    page = ["ext4_a", "ext4_b", "ext4_c", "xfs_d", "6.1", "6.9"]
    whole = assigned(page)
    assert styles(["xfs_d", "ext4_c"], page) == [whole["xfs_d"], whole["ext4_c"]]
    assert len({style.series for style in whole.values()}) == len(page)


def test_beyond_the_colours_marker_and_dash_tell_apart() -> None:
    names = [f"ext4_{number:02}" for number in range(9)] + [
        f"other{number}" for number in range(20)
    ]
    looks = assigned(names).values()
    assert len({(style.series, style.symbol, style.dash) for style in looks}) == len(names)
    # Of many configurations the colour is that of their file system.
    assert {assigned(names)[name].series for name in names[:7]} == {4}
    # Beyond the looks that there are they come again, and no name is without.
    assert len(assigned(map(str, range(palette.LOOKS + 60)))) == palette.LOOKS + 60


def look(style: palette.Style) -> tuple[int, str, str]:
    return style.series, style.symbol, style.dash


NAMES = st.one_of(
    st.builds("{}_{}".format, st.sampled_from(["ext4", "xfs", "ext2"]), st.integers(0, 999)),
    st.text(max_size=4),
)


@settings(max_examples=40, deadline=None)
@given(
    st.sets(NAMES, max_size=MOST_PANELS * MOST_ROWS),
    st.integers(0, palette.LOOKS + 100),
)
def test_what_a_chart_may_draw_never_looks_alike(drawn: set[str], others: int) -> None:
    page = [f"ext3_{number}" for number in range(others)]
    looks = styles(sorted(drawn), page)
    assert len(set(map(look, looks))) == len(drawn)
    # Who is looked at first changes nothing, nor do names that are said twice.
    assert styles(sorted(drawn), [*page[::-1], *page]) == looks


def test_all_looks_differ_and_are_more_than_a_chart_draws() -> None:
    every = [look(palette.Style(number)) for number in range(1, palette.LOOKS + 1)]
    assert len(set(every)) == palette.LOOKS >= max(MOST_PANELS * MOST_ROWS, MOST_LINES)


def test_seven_looks_have_seven_of_each() -> None:
    first = [palette.Style(number) for number in range(1, 8)]
    for part in ("series", "symbol", "dash"):
        assert len({getattr(style, part) for style in first}) == 7
    every = {(s.series, s.symbol, s.dash) for s in map(palette.Style, range(1, 50))}
    assert len(every) == 49
