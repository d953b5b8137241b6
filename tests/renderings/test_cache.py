"""What is kept of what was drawn up: how much, what goes first, and how often it is made."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fsbench_web.renderings.answers import RenderingCache


def of(size: int, calls: list[int] | None = None) -> bytes:
    if calls is not None:
        calls.append(size)
    return b"x" * size


def test_it_is_made_once() -> None:
    cache, calls = RenderingCache(100, 100), list[int]()
    assert [cache.once("a", lambda: of(3, calls)) for _ in range(3)] == [b"xxx"] * 3
    assert calls == [3]


def test_those_who_want_the_same_at_once_wait_for_one_making() -> None:
    cache, begun, may_end = RenderingCache(100, 100), threading.Event(), threading.Event()
    calls: list[int] = []

    def make() -> bytes:
        begun.set()
        assert may_end.wait(60)
        return of(3, calls)

    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(cache.once, "a", make)
        assert begun.wait(60)
        others = [threads.submit(cache.once, "a", make) for _ in range(4)]
        # Another key waits for nobody.
        assert cache.once("b", lambda: b"b") == b"b"
        may_end.set()
        assert {future.result(60) for future in (first, *others)} == {b"xxx"}
    assert calls == [3]


def test_an_error_is_told_to_all_who_waited_and_then_forgotten() -> None:
    cache, begun, may_end = RenderingCache(100, 100), threading.Event(), threading.Event()

    def fail() -> bytes:
        begun.set()
        assert may_end.wait(60)
        raise ValueError("no")

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(cache.once, "a", fail)
        assert begun.wait(60)
        second = threads.submit(cache.once, "a", fail)
        may_end.set()
        for future in (first, second):
            with pytest.raises(ValueError, match="no"):
                future.result(60)
    assert cache.once("a", lambda: b"yes") == b"yes"


def test_it_stays_within_its_room_and_the_longest_unused_goes() -> None:
    cache, calls = RenderingCache(10, 10), list[int]()
    for key, size in (("a", 4), ("b", 4)):
        cache.once(key, lambda size=size: of(size))  # type: ignore[misc]
    cache.once("a", lambda: of(1, calls))  # used, and so the later one
    cache.once("c", lambda: of(4))
    assert cache.size_bytes == 8
    cache.once("a", lambda: of(1, calls))
    assert calls == []
    cache.once("b", lambda: of(2, calls))
    assert calls == [2]
    assert cache.size_bytes == 10


def test_what_is_too_large_is_given_and_not_kept() -> None:
    cache, calls = RenderingCache(100, 5), list[int]()
    cache.once("small", lambda: of(5))
    assert [len(cache.once("large", lambda: of(6, calls))) for _ in range(2)] == [6, 6]
    assert calls == [6, 6]
    assert cache.size_bytes == 5
