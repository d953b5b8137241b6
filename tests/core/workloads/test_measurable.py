"""Parts of a work profile that nothing gives are doubted, and those that nothing could refused."""

import pytest

from fsbench_web.core.scoring.profiles.definition import Profile, from_dict
from fsbench_web.core.scoring.profiles.presets import LATEST
from fsbench_web.core.workloads.measurable import MOST_SAID, doubts, score_problems

SIZES = {"block_sizes_kb": [8, 16], "file_sizes_kb": [1048576, 4194304]}


def profile(*parts: dict, together: str = "ratio") -> Profile:
    return from_dict({"title": "Mine", "together": together, "parts": list(parts)})


@pytest.mark.parametrize("name", sorted(LATEST))
def test_nothing_of_a_preset_is_doubted(name: str) -> None:
    assert doubts(LATEST[name]) == score_problems(LATEST[name]) == []


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"operation": "randread", **SIZES}, 'Is "random_read" meant?'),
        ({"operation": "random_raed"}, 'Is "random_read"'),
        ({"operation": "read"}, "measured by block and file size, and the part has none"),
        ({"operation": "mkfs", **SIZES}, "mkfs is measured without sizes"),
        (
            {"operation": "read", "block_sizes_kb": [3, 3], "file_sizes_kb": [48, 48]},
            "no workload measures read, 3 KB in 48 KB: IOzone doubles",
        ),
        ({"operation": "zzz"}, 'Part 1: no workload measures "zzz", and nobody imported it.'),
    ],
)
def test_what_no_workload_gives_is_said_with_what_could_be_meant(part: dict, words: str) -> None:
    [doubt] = doubts(profile(part))
    assert words in doubt


def test_what_somebody_measured_or_imports_can_bring_is_not_doubted() -> None:
    assert doubts(profile({"operation": "zzz"}), {"zzz"}) == []
    assert doubts(profile({"operation": "stride_read", **SIZES})) == []
    many = profile(*({"operation": f"zzz{place}"} for place in range(20)))
    assert len(doubts(many)) == MOST_SAID + 1


def test_what_no_number_could_meet_is_impossible() -> None:
    [cached] = score_problems(profile({"operation": "mkfs", "cached": True}))
    assert "leave cached open" in cached
    parts = ({"operation": "mkfs"}, {"operation": "read", **SIZES})
    assert score_problems(profile(*parts)) == []
    [units] = score_problems(profile(*parts, together="work"))
    assert "put the parts together by ratio" in units
