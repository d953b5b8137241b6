"""The LUN's own line over time: a disk that got slower is told from a file system that did."""

import pytest

from fsbench_web.compare.history.lines import left_out_in_words
from fsbench_web.compare.history.profile_line import LunLine

STEADY = tuple((100.0 + step, 101.0 - step) for step in (0.2, 0.1, 0.3, 0.2, 0.1, 0.3))
STEP = tuple((level + 0.2, level - 0.1) for level in (100.0,) * 3 + (60.0,) * 3)
SHARES = tuple((80.2, 79.9) for _ in range(6))
SHARES_STEP = tuple((level + 0.2, level - 0.1) for level in (80.0,) * 3 + (48.0,) * 3)


def test_where_the_lun_changes_and_the_share_stays_it_is_the_disk() -> None:
    line = LunLine("random read", STEP, SHARES)
    assert line.changes(10) == [(3, pytest.approx(-40, abs=0.1))]
    assert line.explanation_of(3, 10) == (
        "It is the disk: the LUN itself changed too, and the score stayed at 80% and 80% of it."
    )


def test_where_the_share_changes_it_is_what_stands_on_it() -> None:
    line = LunLine("random read", STEADY, SHARES_STEP)
    assert line.changes(10) == []
    assert line.explanation_of(3, 10) == (
        "It is not the disk: the score went from 80% to 48% of the LUN's own speed."
    )


def test_a_small_share_is_not_none_and_one_run_is_one() -> None:
    small = tuple(tuple(share / 100 for share in shares) for shares in SHARES_STEP)
    assert LunLine("random read", STEADY, small).explanation_of(3, 10) == (
        "It is not the disk: the score went from 0.8% to 0.48% of the LUN's own speed."
    )
    assert left_out_in_words(0, "kernel") == ""
    assert left_out_in_words(1, "kernel") == (
        "1 of its runs does not say its kernel, and is left out."
    )
    assert left_out_in_words(2, "date") == "2 of its runs do not say their date, and are left out."


def test_where_neither_is_sure_nothing_is_claimed() -> None:
    line = LunLine("random read", STEADY, SHARES)
    assert line.explanation_of(3, 10).startswith("It may be the disk")


@pytest.mark.parametrize("is_of_time", [False, True])
def test_the_share_of_a_point_is_of_the_means_that_stand_beside_it(is_of_time: bool) -> None:
    """A slow probe makes the share of its run a large one, and that of the mean little larger."""
    levels, scores = (7000.0, 6500.0, 6800.0), (3000.0, 6200.0, 5000.0)
    if is_of_time:
        scores = (9000.0, 7000.0, 12000.0)
    pairs = list(zip(levels, scores, strict=True))
    shares = tuple(100 * (level / score if is_of_time else score / level) for level, score in pairs)
    line = LunLine("random read", (levels,), (shares,), is_of_time=is_of_time)
    ratio = sum(levels) / sum(scores) if is_of_time else sum(scores) / sum(levels)
    assert line.share_at(0) == pytest.approx(100 * ratio)


@pytest.mark.parametrize(
    ("levels", "shares"), [((100.0, 100.0), (106.0, 106.0)), ((100.0, 111.0), (50.0, 50.0))]
)
def test_a_point_above_its_lun_or_of_probes_that_differ_has_no_share(
    levels: tuple[float, ...], shares: tuple[float, ...]
) -> None:
    line = LunLine("random read", (levels, (100.0,)), (shares, (90.0,)))
    assert (line.share_at(0), line.share_at(1)) == (None, pytest.approx(90))
    assert line.explanation_of(1, 10) == ""


def test_points_that_nobody_measured_are_gaps_and_not_zeros() -> None:
    line = LunLine("random read", ((), *STEP[1:]), ((), *SHARES[1:]))
    assert line.mean_at(0) is None
    assert line.share_at(0) is None
    assert line.explanation_of(1, 10) == ""
    assert line.changes(10) == [(3, pytest.approx(-40, abs=0.1))]
    assert not LunLine().is_known
    assert LunLine().explanation_of(1, 10) == ""
