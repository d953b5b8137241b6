"""What crash points say: a verdict needs both controls, and the bound of a share is exact."""

import json
from typing import Any

import pytest

from fsbench_web.core.activity.durability import (
    ENDED_EARLY,
    LOST,
    MOST_BYTES,
    MOST_LOSSES,
    NOT_CAUGHT,
    NOTHING_LOST,
    RAW_LOST,
    UNKNOWN,
    UnreadablePoints,
    in_words,
    read_durability,
)
from fsbench_web.core.stats.intervals import share_at_most

SUMMARY = {
    "crash": 1,
    "seed": 1,
    "points": 312,
    "possible": 3380,
    "fine": 312,
    "lost": 0,
    "broken": 0,
    "ignored_flushes_lose": True,
    "raw_points": 40,
    "raw_lost": 0,
}
LOSS = {"lost": "boundary:166:869", "why": "f11 is not what was acknowledged", "operation": 11}


def printed(*lines: dict[str, Any], **changes: Any) -> str:
    acknowledged = {"acknowledged": 0, "operation": "create", "path": "f0"}
    return "\n".join(json.dumps(line) for line in (acknowledged, *lines, SUMMARY | changes))


def test_nothing_lost_says_at_most_how_much() -> None:
    found = read_durability(printed())
    assert (found.verdict, found.lost, found.points, found.possible) == (NOTHING_LOST, 0, 312, 3380)
    assert found.at_most == pytest.approx(1 - 0.05 ** (1 / 312))
    assert in_words(found.as_dict()) == (
        "0 of 312 crash points lost an acknowledged write (at most 1.0%, 95%); "
        "device model: volatile cache with flush and FUA; 2 reorders"
    )
    assert "durable" not in in_words(found.as_dict())


def test_a_loss_names_its_point_and_operation() -> None:
    found = read_durability(printed(LOSS, fine=311, lost=1))
    assert found.verdict == LOST
    assert found.losses == [
        {"kind": "lost", "point": LOSS["lost"], "operation": 11, "why": LOSS["why"]}
    ]
    broken = {"broken": "torn:9:9:512", "why": "It cannot be mounted", "operation": -1}
    found = read_durability(printed(broken, fine=311, broken=1))
    assert (found.verdict, found.lost, found.broken) == (LOST, 0, 1)
    assert "1 did not mount, read or check" in in_words(found.as_dict())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ignored_flushes_lose": False}, NOT_CAUGHT),
        ({"ignored_flushes_lose": "yes"}, NOT_CAUGHT),
        ({"raw_lost": 1}, RAW_LOST),
        ({"raw_points": 0}, RAW_LOST),
    ],
)
def test_without_both_controls_nothing_is_known(changes: dict[str, Any], reason: str) -> None:
    found = read_durability(printed(LOSS, fine=311, lost=1, **changes))
    assert (found.verdict, found.reason) == (UNKNOWN, reason)
    assert in_words(found.as_dict()).startswith("Not known: ")


@pytest.mark.parametrize("text", ["", "no JSON", printed().rpartition("\n")[0]])
def test_what_ended_early_is_not_known(text: str) -> None:
    found = read_durability(text)
    assert (found.verdict, found.reason) == (UNKNOWN, ENDED_EARLY)


@pytest.mark.parametrize(
    "text",
    [
        printed(crash=2),
        printed(lost=1),
        printed(fine=-1, lost=313),
        printed(points=0, fine=0),
        printed(possible=10),
        printed(points="x"),
        printed(points=None),
        printed(points=312.0),
        printed(fine="312"),
        printed(seed=10**300),
        printed(seed=True),
        printed(raw_points=1, raw_lost=2),
        printed({"lost": "p"}),
        printed(LOSS | {"operation": 10**300}, fine=311, lost=1),
        printed(LOSS | {"operation": "11"}, fine=311, lost=1),
        "{",
        "{" * MOST_BYTES + " ",
        '{"crash": ' + "[" * 100_000,
    ],
)
def test_what_does_not_add_up_is_refused(text: str) -> None:
    with pytest.raises(UnreadablePoints):
        read_durability(text)


def test_text_of_a_loss_can_be_stored() -> None:
    loss = {"lost": "p\x00\ud800", "why": "a\x00\nb", "operation": 1}
    (found,) = read_durability(printed(loss, fine=311, lost=1)).losses
    assert (found["point"], found["why"]) == ("p\ufffd\ufffd", "a\ufffd\nb")


def test_losses_are_bounded() -> None:
    losses = [LOSS] * (MOST_LOSSES + 20)
    found = read_durability(printed(*losses, fine=312 - len(losses), lost=len(losses)))
    assert (len(found.losses), found.lost) == (MOST_LOSSES, len(losses))


def test_the_bound_of_a_share_is_exact() -> None:
    assert share_at_most(0, 300) == pytest.approx(0.009936, abs=1e-5)
    assert share_at_most(1, 20) == pytest.approx(0.21611, abs=1e-4)
    assert share_at_most(20, 20) == 1.0
