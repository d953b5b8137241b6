"""Who opens connections and does not say what it wants keeps nobody else out."""

import asyncio
import socket
import threading
import time
from types import SimpleNamespace
from typing import Any

import uvicorn

from fsbench_web.serving.slow_senders import SlowSenders
from fsbench_web.serving.supervisor import open_socket
from fsbench_web.serving.web import Server


class Transport:
    def __init__(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


def connection(cycle: Any = None) -> Any:
    return SimpleNamespace(cycle=cycle, transport=Transport())


def request(*, is_answered: bool) -> Any:
    return SimpleNamespace(response_complete=is_answered)


def test_a_connection_without_a_request_ends() -> None:
    slow, senders = connection(), SlowSenders(30)
    for second in range(31):
        senders.end([slow], second)
    assert slow.transport.is_open
    senders.end([slow], 31)
    assert not slow.transport.is_open


def test_half_a_second_request_ends_too() -> None:
    slow, senders = connection(request(is_answered=True)), SlowSenders(30)
    senders.end([slow], 0)
    senders.end([slow], 31)
    assert not slow.transport.is_open


def test_a_request_under_way_takes_as_long_as_it_takes() -> None:
    upload, senders = connection(), SlowSenders(30)
    senders.end([upload], 0)
    upload.cycle = request(is_answered=False)
    for minute in range(1, 60):
        senders.end([upload], minute * 60)
    assert upload.transport.is_open
    upload.cycle.response_complete = True
    senders.end([upload], 3600)
    assert upload.transport.is_open


def test_a_connection_that_is_used_now_and_then_stays() -> None:
    """Each of its requests begins and ends between two looks."""
    busy, senders = connection(), SlowSenders(30)
    for number in range(100):
        busy.cycle = request(is_answered=True)
        senders.end([busy], number * 2.0)
    assert busy.transport.is_open


def test_the_server_ends_half_a_head_and_answers_whole_ones() -> None:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    with open_socket("127.0.0.1", 0) as listening:
        # The thread closes its own descriptor; signals are the business of the main thread.
        config = uvicorn.Config(answer, log_level="warning", lifespan="off")
        server = Server(config, listening)
        server._slow_senders = SlowSenders(0.5)
        thread = threading.Thread(target=lambda: asyncio.run(server._serve(None)))
        thread.start()
        try:
            with socket.create_connection(listening.getsockname()) as slow:
                slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
                slow.settimeout(20)
                began = time.monotonic()
                assert slow.recv(100) == b""
                assert time.monotonic() - began > 0.4
            with socket.create_connection(listening.getsockname()) as quick:
                quick.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                quick.settimeout(20)
                assert quick.recv(100).startswith(b"HTTP/1.1 200")
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive()
