"""A web process serves the supervisor's socket, and a restart refuses no connection."""

import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fsbench_web.platform import shutdown
from fsbench_web.serving.supervisor import Supervisor, open_socket
from fsbench_web.serving.web import Server, config_for
from tests.serving.running import answer, served


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with open_socket("127.0.0.1", 0) as opened:
        yield opened


def request(listening: socket.socket) -> socket.socket:
    connection = socket.create_connection(listening.getsockname(), timeout=20)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return connection


def test_many_may_wait_while_a_process_computes(listening: socket.socket) -> None:
    computes = threading.Event()

    async def hold_all(scope: Any, receive: Any, send: Any) -> None:
        computes.wait(60)  # the whole loop stands still
        await answer(scope, receive, send)

    with served(listening, hold_all) as server:
        while not server.started:
            pass
        try:
            waiting = [request(listening) for _ in range(100)]
        finally:
            computes.set()
        assert all(connection.recv(1000).startswith(b"HTTP/1.1 200") for connection in waiting)
        for connection in waiting:
            connection.close()


def test_after_the_end_connections_wait_for_the_next(listening: socket.socket) -> None:
    with served(listening):
        assert request(listening).recv(1000).startswith(b"HTTP/1.1 200")
    waiting = request(listening)
    with served(listening):
        assert waiting.recv(1000).startswith(b"HTTP/1.1 200")
    waiting.close()


def test_event_streams_end_when_the_server_does(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun = threading.Event()
    monkeypatch.setattr(shutdown, "_begun", has_begun)
    Server(config_for(answer)).handle_exit(signal.SIGTERM, None)
    assert shutdown.has_begun()


def test_the_port_is_closed_while_the_last_answers_finish() -> None:
    """A proxy that retries bridges a refusal."""
    with open_socket("127.0.0.1", 0) as listening:
        address = listening.getsockname()
        site = Supervisor(listening, processes=1, with_worker=False, echo=print)
        site._end_children()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
