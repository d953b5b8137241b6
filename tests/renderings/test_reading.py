"""Uploads are read in a process that is ended where a reader keeps the interpreter's lock."""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import pytest

from fsbench_web.imports import plan
from fsbench_web.imports.plan import plan_files
from fsbench_web.imports.sources import SourceFile, Target, pack
from fsbench_web.renderings import reading

TABLE = b"test,value,unit\nwrite,1.5,KB/s\nread,2.5,KB/s\n"
TARGET = Target("s", filesystem="ext4", configuration="plain")
FILES = [pack("a.csv", BytesIO(TABLE)), pack("b.csv", BytesIO(b"nothing"))]


def keeps_the_lock(_: list[SourceFile], __: str) -> None:
    """Backtracks for hours, and lets no other thread of its process run."""
    re.match("(a+)+b", "a" * 60)


def pid() -> int:
    return os.getpid()


def takes_memory() -> str:
    return "a" * 2**33


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reading, "_readers", [])
    monkeypatch.setattr(reading, "_free", reading.LifoQueue())
    reading.start()
    yield
    reading.end()


def test_files_are_read_in_another_process_as_they_are_here(processes: None) -> None:
    there = plan_files(FILES, TARGET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_readers", [])
        here = plan_files(FILES, TARGET)
    for first, second in zip(there.files, here.files, strict=True):
        assert (first.path, first.problems) == (second.path, second.problems)
        assert [file.numbers and file.numbers.values() for file in (first, second)] == [
            second.numbers and second.numbers.values()
        ] * 2
    assert [file.source.read() for file in there.files] == [TABLE, b"nothing"]
    assert reading.call(pid) not in (os.getpid(), 0)


def test_what_keeps_the_lock_is_ended_and_everybody_else_goes_on(
    processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading.call(pid)
    for reader in reading._readers:
        monkeypatch.setattr(reader, "_longest_s", 0.5)
    monkeypatch.setattr(plan, "_read_files", keeps_the_lock)
    steps, ended = [time.monotonic()], threading.Event()

    def goes_on() -> None:
        while not ended.wait(0.01):
            steps.append(time.monotonic())

    other = threading.Thread(target=goes_on)
    other.start()
    hostile = plan_files(FILES, TARGET)
    ended.set()
    other.join()
    assert len(steps) > 10
    assert [problem.message for problem in hostile.all_problems] == [reading.TOOK_TOO_LONG]
    assert [file.runs for file in hostile.files] == [[], []]
    monkeypatch.undo()


def test_memory_is_bounded_and_the_next_is_read(processes: None) -> None:
    with pytest.raises(reading.ReadingStopped, match="MiB of memory"):
        reading.call(takes_memory)
    assert reading.call(pid)


def test_a_process_that_died_meanwhile_is_replaced(processes: None) -> None:
    os.kill(reading.call(pid), signal.SIGKILL)
    assert len(plan_files(FILES[:1], TARGET).files[0].runs) == 1


def test_a_small_upload_costs_little_more(processes: None) -> None:
    many = [replace(FILES[0], path=f"{number}.csv") for number in range(20)]
    plan_files(many, TARGET)
    began = time.monotonic()
    for file in many:
        plan_files([file], TARGET)
    assert time.monotonic() - began < 20 * 0.1
