"""Whatever a container prints: lines, messages, and nothing that ends the worker."""

from typing import Any
from unittest.mock import Mock

import pytest
from docker.errors import APIError, NotFound

from fsbench_web.studies.causes import Cause
from runner.executors import containers, stream
from runner.executors.stream import LastWords, LineReader, follow, message_of

PHASE = b'{"type": "phase", "phase": "mkfs"}'


def texts(reader: LineReader, *data: bytes) -> list[str]:
    messages = [message for piece in data for message in reader.feed("stdout", piece)]
    return [str(message.get("phase") or message["text"]) for message in messages + reader.end()]


def test_lines_are_put_together_of_any_pieces() -> None:
    output = PHASE + b"\nplain\n\n" + PHASE + b"\nrest"
    for length in (1, 2, 7, 1000):
        pieces = [output[start : start + length] for start in range(0, len(output), length)]
        assert texts(LineReader(), *pieces) == ["mkfs", "plain", "mkfs", "rest"]


def test_a_line_without_end_takes_no_more_memory_than_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "LONGEST_LINE", 1 << 20)
    reader, piece = LineReader(), b"\0" * 65536
    for _ in range(100):
        assert reader.feed("stdout", piece) == []
    assert sum(map(len, reader._rests.values())) == 1 << 20
    (cut, phase) = reader.feed("stdout", piece + b"\n" + PHASE + b"\n")
    assert (cut["type"], len(cut["text"]), phase["type"]) == ("log", 2000, "phase")
    assert reader.end() == []


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"type": ' + b"[" * 100_000,
        b"9" * 10_000,
        b"\xff\xfe\0",
        b'{"type": 5}',
        b'"\\ud800"',
        b"NaN",
    ],
)
def test_what_is_no_message_is_a_line_of_the_log(line: bytes) -> None:
    assert message_of("stdout", line)["type"] == "log"


def test_what_follows_nonsense_is_heard() -> None:
    heard: list[str] = []
    pieces = [("stdout", b"[" * 100_000 + b"\n"), ("stdout", PHASE + b"\n")]

    def fail() -> None:
        raise AssertionError("it was ended")

    is_stopped = follow(
        pieces, lambda m: heard.append(str(m["type"])), lambda: False, stop=fail, kill=fail
    )
    assert (is_stopped, heard) == (False, ["log", "phase"])


@pytest.mark.parametrize("exit_code", [1, 137])
@pytest.mark.parametrize(
    ("limit", "words"),
    [(0, "the host ran out of memory."), (64 << 20, "out of memory at the 64 MiB limit.")],
)
def test_who_had_no_memory_left_is_said(exit_code: int, limit: int, words: str) -> None:
    """With a limit of its own it is seldom the host; an agent that lives ends with 1."""
    container: Any = Mock(attrs={"State": {"OOMKilled": True}, "HostConfig": {"Memory": limit}})
    assert containers.why_ended(container, exit_code, False) == (
        f"Killed by the kernel: {words}",
        Cause.BENCHMARK,
    )


@pytest.mark.parametrize("error", [NotFound("gone"), APIError("away")])
def test_what_the_agent_said_needs_no_word_of_the_daemon(error: Exception) -> None:
    container: Any = Mock(reload=Mock(side_effect=error))
    assert containers.why_ended(container, 1, False) == ("", Cause.BENCHMARK)
    assert containers.why_ended(container, 137, False)[1] != Cause.BENCHMARK


def last_words(*lines: bytes) -> str:
    words = LastWords(lambda message: None)
    for line in lines:
        words.take(message_of("stderr" if line[:1] != b"{" else "stdout", line))
    return words.reason


def test_an_agent_that_cannot_say_why_it_ends_is_quoted() -> None:
    tool = b'{"type": "log", "at": 1, "stream": "stderr", "text": "mke2fs 1.47"}'
    done = b'{"type": "done", "ok": false}'
    assert last_words(b"a warning", b"python3: no such file.", tool) == (
        "The agent ended early: python3: no such file."
    )
    assert last_words(tool) == ""
    assert last_words(b"a warning", done) == ""
