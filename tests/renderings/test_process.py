"""The process that draws up files: what it answers, and what becomes of it when it cannot."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fsbench_web.renderings import worker
from fsbench_web.renderings.process import Renderer, RendererUnavailable, RenderingFailed, TooLarge


def about_process(name: str) -> bytes:
    """About the process that it is called in."""
    print("a library prints")
    return {
        "pid": str(os.getpid()).encode(),
        "nice": str(os.nice(0)).encode(),
        "parent": str(os.getppid()).encode(),
    }[name]


def too_much(count: int) -> bytes:
    return b"x" * count


def broken() -> bytes:
    raise ValueError("the third table")


def dies() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def sleeps() -> bytes:
    time.sleep(600)
    return b""


@pytest.fixture
def new() -> Iterator[Renderer]:
    process = Renderer()
    yield process
    process.end()


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    """Of all tests that do not end it: each leaves one that answers, to start it takes a second."""
    process = Renderer()
    yield process
    process.end()


def is_there(pid: int | None) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_it_works_in_one_process_of_its_own_behind_the_pages(new: Renderer) -> None:
    assert new.pid is None, "it is started when it is needed"
    pid = new(about_process, "pid")
    assert int(pid) == new.pid != os.getpid()
    assert new(about_process, "pid") == pid
    assert int(new(about_process, "nice")) >= worker.NICE
    new.end()
    assert not is_there(int(pid))


def test_an_error_is_told_with_its_place_and_the_next_is_answered(renderer: Renderer) -> None:
    with pytest.raises(RenderingFailed, match=r"in broken\n.*\n*ValueError: the third table"):
        renderer(broken)
    pid = renderer.pid
    assert int(renderer(about_process, "pid")) == pid


def test_one_that_takes_more_than_its_memory_is_refused(renderer: Renderer) -> None:
    with pytest.raises(TooLarge):
        renderer(too_much, 2 * worker.MOST_MEMORY_BYTES)
    with pytest.raises(TooLarge):
        renderer(too_much, worker.MOST_ANSWER_BYTES + 1)
    assert len(renderer(too_much, 10)) == 10


def test_one_that_kills_the_process_is_away_and_the_next_has_another(renderer: Renderer) -> None:
    before = renderer(about_process, "pid")
    with pytest.raises(RendererUnavailable):
        renderer(dies)
    assert renderer(about_process, "pid") != before


def test_a_process_that_died_meanwhile_is_replaced(renderer: Renderer) -> None:
    before = int(renderer(about_process, "pid"))
    os.kill(before, signal.SIGKILL)
    assert int(renderer(about_process, "pid")) != before


def test_one_that_takes_too_long_is_ended_and_not_tried_again(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = int(renderer(about_process, "pid"))
    monkeypatch.setattr(renderer, "_longest_s", 0.1)
    monkeypatch.setattr("fsbench_web.renderings.process._start_worker", pytest.fail)
    with pytest.raises(RendererUnavailable):
        renderer(sleeps)
    assert renderer.pid is None
    assert not is_there(pid)


def test_its_end_waits_for_nothing_that_is_being_drawn_up(new: Renderer) -> None:
    pid = int(new(about_process, "pid"))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(new, sleeps)
        while not new._lock.locked():
            time.sleep(0.001)
        new.end()
        with pytest.raises(RendererUnavailable):
            waiting.result(60)
    assert not is_there(pid)
    with pytest.raises(RendererUnavailable):
        new(about_process, "pid")


def test_it_ends_when_nobody_sends_any_more(renderer: Renderer) -> None:
    """As when the web process is killed: the kernel closes its end."""
    renderer(about_process, "pid")
    process, channel = renderer._process, renderer._channel
    assert process is not None
    assert channel is not None
    channel.close()
    assert process.wait(60) == 0
