"""Who opens connections and does not say what it wants keeps nobody else out."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fsbench_web.serving import slow_senders
from fsbench_web.serving.supervisor import open_socket
from tests.serving.running import answer, served

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-A: "
LIMIT_S = 0.5


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_senders, "HEAD_WITHIN_S", LIMIT_S)


@contextmanager
def connected(application: Any = answer) -> Iterator[socket.socket]:
    with (
        open_socket("127.0.0.1", 0) as listening,
        served(listening, application),
        socket.create_connection(listening.getsockname(), timeout=20) as connection,
    ):
        yield connection


def ends(connection: socket.socket) -> bool:
    """Whether it is closed without another word, and not at once."""
    began = time.monotonic()
    return connection.recv(1000) == b"" and time.monotonic() - began > LIMIT_S / 2


def answer_to(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(request)
    received = b""
    while b"here" not in received and (part := connection.recv(1000)):
        received += part
    return received


def test_a_connection_without_a_request_ends() -> None:
    with connected() as silent:
        assert ends(silent)


def test_half_a_head_ends_and_whole_ones_are_answered() -> None:
    with open_socket("127.0.0.1", 0) as listening, served(listening):
        with socket.create_connection(listening.getsockname(), timeout=20) as slow:
            slow.sendall(HALF)
            assert ends(slow)
        with socket.create_connection(listening.getsockname(), timeout=20) as quick:
            assert answer_to(quick, REQUEST).startswith(b"HTTP/1.1 200")


def test_a_byte_now_and_then_is_half_a_head_still() -> None:
    with connected() as dripping:
        dripping.sendall(HALF)
        for _ in range(400):
            try:
                dripping.sendall(b"x")
            except (BrokenPipeError, ConnectionResetError):
                return
            time.sleep(LIMIT_S / 10)
        raise AssertionError("it was never ended")


def test_half_a_second_request_ends_too() -> None:
    with connected() as slow:
        assert answer_to(slow, REQUEST).startswith(b"HTTP/1.1 200")
        slow.sendall(HALF)
        assert ends(slow)


def test_a_request_under_way_takes_as_long_as_it_takes() -> None:
    async def slow_page(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(3 * LIMIT_S)
        await answer(scope, receive, send)

    with connected(slow_page) as patient:
        assert answer_to(patient, REQUEST).startswith(b"HTTP/1.1 200")


def test_a_body_takes_as_long_as_it_takes() -> None:
    with connected() as uploading:
        uploading.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n")
        for _ in range(6):
            time.sleep(LIMIT_S / 3)
            uploading.sendall(b"x")
        assert uploading.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_connection_that_is_used_now_and_then_stays() -> None:
    with connected() as busy:
        for _ in range(6):
            assert answer_to(busy, REQUEST).startswith(b"HTTP/1.1 200")
            time.sleep(LIMIT_S / 3)


def test_of_requests_that_come_together_each_is_answered() -> None:
    with connected() as hasty:
        hasty.sendall(REQUEST * 3)
        received = b""
        while received.count(b"here") < 3 and (part := hasty.recv(1000)):
            received += part
        assert received.count(b"HTTP/1.1 200") == 3
        assert ends(hasty)
