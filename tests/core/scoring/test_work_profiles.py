"""Work profiles: what they are made of, and one number of all their parts."""

from dataclasses import replace
from itertools import product
from math import exp, inf, log, nan

import pytest

from fsbench_web.core.scoring import categories
from fsbench_web.core.scoring.profiles import presets
from fsbench_web.core.scoring.profiles.combining import (
    CellsMissing,
    ScoreUnavailable,
    combined,
    repeat_names,
)
from fsbench_web.core.scoring.profiles.definition import (
    RATIO,
    WORK,
    Part,
    Profile,
    ProfileError,
    RequiredCell,
    Sizes,
    from_dict,
    size_words,
)

GB = 1024 * 1024
READ = Part("read", 3, Sizes(8, 16), Sizes(64, 64))
LATENCY = Part("randread_clat_mean", 1)
MIXED = Profile("Mixed", RATIO, (READ, LATENCY))
LOWER = {"read": False, "randread_clat_mean": True}
SMALL, LARGE = RequiredCell("read", 8, 64), RequiredCell("read", 16, 64)
WAIT = RequiredCell("randread_clat_mean")


def test_the_cells_of_a_part_are_the_doublings_of_its_sizes_and_share_its_weight():
    part = Part("random_write", 1, Sizes(8, 16), Sizes(GB, 4 * GB), cached=False)
    assert [(cell.record_kb, cell.file_kb) for cell in part.demands] == [
        (block, file) for file, block in product((GB, 2 * GB, 4 * GB), (8, 16))
    ]
    assert part.words == "Random write, 8 KB to 16 KB in files of 1 GB to 4 GB, beyond the cache"
    assert MIXED.shares == {SMALL: 0.375, LARGE: 0.375, WAIT: 0.25}


def test_no_block_is_larger_than_its_file():
    part = Part("read", 1, Sizes(4, 16), Sizes(4, 16))
    assert len(part.demands) == 6
    assert all(cell.record_kb <= cell.file_kb for cell in part.demands)


def test_parts_with_the_same_cell_add_their_shares():
    twice = Profile("Twice", RATIO, (READ, replace(READ, weight=1, blocks=Sizes(8, 8))))
    assert twice.shares == {SMALL: 0.375 + 0.25, LARGE: 0.375}


def test_a_profile_made_of_another_leaves_its_shares_alone():
    other = replace(MIXED, parts=(READ,), title="Reads")
    assert other.shares == {SMALL: 0.5, LARGE: 0.5}
    assert MIXED.shares == {SMALL: 0.375, LARGE: 0.375, WAIT: 0.25}


def values(small: float, large: float, wait: float) -> dict[RequiredCell, dict[str, float]]:
    return {SMALL: {"1": small}, LARGE: {"1": large}, WAIT: {"1": wait}}


def test_a_ratio_is_the_weighted_geometric_mean_of_speeds():
    fast = combined(MIXED, values(200, 400, 1), LOWER).level
    slow = combined(MIXED, values(100, 100, 2), LOWER).level
    assert fast / slow == pytest.approx(exp(0.375 * log(2) + 0.375 * log(4) + 0.25 * log(2)))


def test_another_baseline_changes_no_ratio_of_two():
    """Fleming and Wallace 1986: with the arithmetic mean of ratios it would."""
    three = [values(200, 400, 1), values(100, 100, 2), values(50, 700, 3)]
    levels = [combined(MIXED, measured, LOWER) for measured in three]
    for base in levels:
        against = [score.against(base.level).level for score in levels]
        assert against[0] / against[1] == pytest.approx(levels[0].level / levels[1].level)


def test_work_is_all_work_over_all_time():
    profile = Profile("Backup", WORK, (replace(READ, blocks=Sizes(8, 8)), Part("write", 1)))
    profile_score = combined(
        profile,
        {SMALL: {"1": 100.0}, RequiredCell("write"): {"1": 10.0}},
        {"read": False, "write": False},
    )
    # 75 at 100 a second take 0.75 s, 25 at 10 a second 2.5 s: 100 in 3.25 s.
    assert profile_score.level == pytest.approx(100 / 3.25)


def test_of_times_work_is_their_weighted_mean():
    profile = Profile("Waits", WORK, (LATENCY, replace(LATENCY, operation="other_time", weight=3)))
    profile_score = combined(
        profile,
        {WAIT: {"1": 8.0}, RequiredCell("other_time"): {"1": 4.0}},
        {"randread_clat_mean": True, "other_time": True},
    )
    assert profile_score.level == 5


def test_each_repeat_is_scored_by_itself_and_only_with_every_cell():
    some = {
        SMALL: {"1": 100.0, "2": 110.0, "3": 120.0},
        LARGE: {"1": 200.0, "2": 190.0, "3": 210.0},
        WAIT: {"1": 1.0, "3": 2.0},
    }
    profile_score = combined(MIXED, some, LOWER)
    assert list(profile_score.of_repeats) == ["1", "3"]
    alone = combined(MIXED, values(120, 210, 2), LOWER)
    assert profile_score.of_repeats["3"] == alone.level
    assert profile_score.interval.count == 2
    assert profile_score.interval.mean == pytest.approx(sum(profile_score.of_repeats.values()) / 2)


@pytest.mark.parametrize("missing", [SMALL, WAIT])
def test_what_lacks_a_cell_has_no_score(missing):
    some = values(100, 200, 1)
    del some[missing]
    with pytest.raises(ScoreUnavailable, match="1 of 3 cells were not measured"):
        combined(MIXED, some, LOWER)


@pytest.mark.parametrize("value", [0.0, -1.0, nan, inf])
def test_what_has_no_logarithm_has_no_score(value):
    with pytest.raises(ScoreUnavailable, match="which has no ratio"):
        combined(MIXED, values(100, value, 1), LOWER)


def test_a_zero_counts_in_a_repeat_that_lacks_another_cell_too():
    some = values(100, 200, 1)
    some[LARGE]["2"] = 0.0
    with pytest.raises(ScoreUnavailable, match="is 0, which has no ratio"):
        combined(MIXED, some, LOWER)


def test_rates_and_times_are_no_amount_of_work():
    with pytest.raises(ScoreUnavailable, match="rates and times"):
        combined(replace(MIXED, together=WORK), values(1, 1, 1), LOWER)


def test_a_document_is_the_profile():
    for profile in presets.VERSIONS.values():
        again = from_dict(profile.as_dict(), slug=profile.slug, version=profile.version)
        assert again == profile


@pytest.mark.parametrize("profile", presets.VERSIONS.values(), ids=str)
def test_every_preset_says_what_it_rests_on_and_is_called_so_without_the_database(profile):
    assert profile.source
    assert profile.summary
    assert profile.percent_of(profile.parts[0]) <= 100
    assert categories.label(f"profile:{profile.name}") == profile.label


def document(**changes):
    part = {"operation": "read", "weight": 1, "block_sizes_kb": [4, 8], "file_sizes_kb": [64, 64]}
    return {"title": "Mine", "together": "ratio", "parts": [part | changes]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": 0}, "weight is a number above 0"),
        ({"weight": True}, "weight is a number above 0"),
        ({"weight": nan}, "weight is a number above 0"),
        ({"weight": "3"}, "weight is a number above 0"),
        ({"operation": "../etc"}, "operation is the name of a test"),
        ({"block_sizes_kb": [8, 4]}, "smallest, largest"),
        ({"block_sizes_kb": [0, 4]}, "smallest, largest"),
        ({"block_sizes_kb": [4.5, 8]}, "smallest, largest"),
        ({"block_sizes_kb": [128, 256]}, "larger than its files"),
        ({"block_sizes_kb": None}, "Give both"),
        ({"cached": 1}, "cached is true, false or null"),
        ({"flushed": "yes"}, "flushed is true, false or null"),
        ({"load": "many"}, "load is as threads=8"),
        ({"path": "/etc"}, "it has no path"),
        ({"file_sizes_kb": [1, 2**40], "block_sizes_kb": [1, 2**40]}, "400 at most"),
    ],
)
def test_a_document_is_refused_with_the_part_and_what_is_wrong(changes, message):
    with pytest.raises(ProfileError, match=message):
        from_dict(document(**changes))


def test_all_problems_are_told_at_once():
    with pytest.raises(ProfileError) as error:
        from_dict({"together": "mean", "parts": [{"operation": "read", "weight": -1}, 3]})
    assert len(error.value.problems) == 4


@pytest.mark.parametrize(
    ("kb", "words"),
    [(8, "8 KB"), (1536, "1,536 KB"), (64 * 1024, "64 MB"), (4 * GB, "4 GB"), (GB * 1024, "1 TB")],
)
def test_sizes_in_words(kb, words):
    assert size_words(kb) == words


@pytest.mark.parametrize(
    ("sources", "cells", "names"),
    [
        ([{1: "a", 2: "b"}], [[1, 2]], ["a", "b"]),
        ([{1: "a", 2: "a", 3: "b"}], [[1, 3], [2, 3]], ["a", "a", "b"]),
        ([{1: "a", 2: "a", 3: "b"}], [[1, 2, 3]], ["#1", "#2", "b"]),
        ([{1: "", 2: ""}], [[1, 2]], ["#1", "#2"]),
        ([{1: "a", 2: "b"}, {3: "b", 4: "a"}], [[1, 2], [3, 4]], ["a", "b", "b", "a"]),
        ([{1: "a", 2: "b"}, {3: "c", 4: "d"}], [[1, 2], [3, 4]], ["#1", "#2", "#1", "#2"]),
        ([{1: "a", 2: "b"}, {3: "a", 4: ""}], [[1, 2], [3, 4]], ["#1", "#2", "#1", "#2"]),
    ],
)
def test_runs_of_a_block_are_one_repeat_if_each_cell_is_in_it_once(sources, cells, names):
    assert list(repeat_names(sources, cells).values()) == names


def test_missing_cells_are_told_from_values_that_are_no_speed():
    with pytest.raises(CellsMissing):
        combined(MIXED, {SMALL: {"1": 1.0}}, LOWER)
    values = {SMALL: {"1": 0.0}, LARGE: {"1": 1.0}, WAIT: {"1": 1.0}}
    with pytest.raises(ScoreUnavailable) as caught:
        combined(MIXED, values, LOWER)
    assert not isinstance(caught.value, CellsMissing)
