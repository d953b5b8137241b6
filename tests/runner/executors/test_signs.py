"""What an agent is told of its worker, and until when."""

import threading
import time

import pytest

from runner.executors.stream import PER_SILENCE, signs_of_life


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "signs-of-life"]


def test_they_come_more_often_than_an_agent_needs_them_and_end_with_the_run() -> None:
    signs: list[bytes] = []
    with signs_of_life(signs.append, 0.8):
        deadline = time.monotonic() + 60
        while len(signs) < 2 * PER_SILENCE:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    count = len(signs)
    assert not _threads()
    assert set(signs) == {b"\n"}
    time.sleep(0.2)
    assert len(signs) == count


def test_without_a_limit_there_are_none() -> None:
    signs: list[bytes] = []
    with signs_of_life(signs.append, 0.0):
        assert not _threads()
    assert signs == []


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("write to closed file")])
def test_an_agent_that_has_ended_is_told_no_more(error: Exception) -> None:
    told = threading.Event()

    def write(data: bytes) -> None:
        told.set()
        raise error

    with signs_of_life(write, 0.08):
        assert told.wait(60)
        deadline = time.monotonic() + 60
        while _threads():
            assert time.monotonic() < deadline
            time.sleep(0.01)
