"""Crash points: every state that a volatile cache may leave, and no other."""

from collections import Counter

import pytest

from runner.agent.crash.points import (
    BOUNDARY,
    DROPPED,
    KEPT,
    MOST_PAIRED_WRITES,
    PAIR,
    TORN,
    Point,
    chosen,
    marked,
    points,
)
from runner.agent.crash.write_log import FLUSH, FUA, MARK, Entry

FLUSHED = Entry(0, 0, FLUSH)


def mark(text: str) -> Entry:
    return Entry(0, 0, MARK, mark=text)


def write(start: int = 0, length: int = 8192, flags: int = 0) -> Entry:
    return Entry(start, length, flags, data_at=512)


def state(entries: list[Entry], point: Point) -> set[int]:
    """The writes that are on the disk, whole."""
    whole = {place for place in range(point.upto) if entries[place].length}
    return whole | set(point.more)


# 0 flush, 1 start, 2 forced, 3 op0, 4-6 writes, 7 flush, 8 op1, 9 a write that no flush follows
LOG = [
    *(FLUSHED, mark("start"), write(flags=FUA), mark("op0")),
    *(write(), write(8192), write(16384), FLUSHED, mark("op1"), write(4096)),
]


def test_every_state_is_one_that_the_disk_may_be_in() -> None:
    every = list(points(LOG, 1))
    assert len(every) == len({point.name for point in every})
    for point in every:
        on_disk = state(LOG, point)
        flushed = {p for p in range(point.upto) if LOG[p].flags & FLUSH}
        # What a flush or a forced write promised is there, and nothing from behind the crash.
        if 7 in flushed or point.before > 8:
            assert {2, 4, 5, 6} <= on_disk
        if point.before > 3:
            assert 2 in on_disk
        assert all(place < point.before for place in on_disk)
    assert Counter(point.kind for point in every) == {
        BOUNDARY: 3,
        DROPPED: 4,
        KEPT: 4,
        PAIR: 3,
        TORN: 6,
    }


def test_boundaries_keep_no_more_than_was_promised_for_as_long_as_it_may_last() -> None:
    found = [(p.upto, p.before) for p in points(LOG, 1) if p.kind == BOUNDARY]
    assert found == [(2, 2), (3, 7), (8, 10)]


def test_a_pair_is_kept_alone_and_a_write_is_dropped_alone() -> None:
    every = list(points(LOG, 1))
    pairs = {frozenset(state(LOG, p)) - {2} for p in every if p.kind == PAIR}
    assert pairs == {frozenset({4, 5}), frozenset({4, 6}), frozenset({5, 6})}
    dropped = {frozenset(state(LOG, p)) for p in every if p.kind == DROPPED and p.before == 7}
    assert dropped == {frozenset({2, 5, 6}), frozenset({2, 4, 6}), frozenset({2, 4, 5})}


def test_a_forced_write_between_others_is_always_there() -> None:
    log = [FLUSHED, mark("start"), write(), write(8192, flags=FUA), write(16384), FLUSHED]
    for point in points(log, 1):
        if point.kind in (DROPPED, KEPT, PAIR):
            assert 3 in state(log, point)


def test_torn_writes_keep_their_first_bytes() -> None:
    torn = [(p.torn, p.torn_bytes) for p in points(LOG, 1) if p.kind == TORN]
    assert torn == [(2, 512), (2, 4096), (6, 512), (6, 4096), (9, 512), (9, 4096)]
    small = [FLUSHED, mark("start"), write(length=512), FLUSHED]
    assert not [point for point in points(small, 1) if point.kind == TORN]


@pytest.mark.parametrize("writes", [MOST_PAIRED_WRITES, MOST_PAIRED_WRITES + 1])
def test_pairs_are_bounded(writes: int) -> None:
    log = [FLUSHED, mark("start"), *[write() for _ in range(writes)], FLUSHED]
    pairs = sum(point.kind == PAIR for point in points(log, 1))
    assert pairs == (writes * (writes - 1) // 2 if writes <= MOST_PAIRED_WRITES else 0)


def test_the_same_seed_chooses_the_same_points_and_half_are_boundaries() -> None:
    log = [FLUSHED, mark("start")]
    for _ in range(60):
        log += [write(), write(8192), FLUSHED]
    every = list(points(log, 1))
    first = chosen(every, 40, seed=7)
    assert first == chosen(every, 40, seed=7) != chosen(every, 40, seed=8)
    assert sum(point.kind == BOUNDARY for point in first) == 20
    assert first == sorted(first)
    assert sorted(chosen(every, 10_000, seed=7)) == sorted(every)


def test_a_log_without_the_mark_is_refused() -> None:
    assert marked(LOG, "op1") == 8
    with pytest.raises(ValueError, match="end"):
        marked(LOG, "end")
