"""How web processes share one port: who rests takes what comes, and nobody is turned away."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fsbench_web.serving.supervisor import open_socket
from fsbench_web.serving.web import Server, settings_of
from tests.serving.running import answer, served


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with open_socket("127.0.0.1", 0) as opened:
        yield opened


def request(listening: socket.socket) -> socket.socket:
    connection = socket.create_connection(listening.getsockname(), timeout=20)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return connection


def test_processes_that_rest_share_what_comes_at_once(listening: socket.socket) -> None:
    """One that took all that waits would work on twenty uploads while the other rests."""
    answered: list[str] = []

    def named_application(name: str) -> Any:
        async def tell(scope: Any, receive: Any, send: Any) -> None:
            answered.append(name)
            await answer(scope, receive, send)

        return tell

    async def two_servers() -> None:
        # In one loop, so that no scheduler has a say in it.
        servers = [
            Server(settings_of(named_application(name)), listening) for name in ("one", "other")
        ]
        running = [asyncio.create_task(server.serve()) for server in servers]
        while not all(server.started for server in servers):
            await asyncio.sleep(0.001)
        connections = [request(listening) for _ in range(10)]
        while len(answered) < 10:
            await asyncio.sleep(0.001)
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*running)
        for connection in connections:
            connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(two_servers()))
    thread.start()
    thread.join(60)
    assert answered.count("one") == answered.count("other") == 5


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


def test_who_connected_just_before_the_end_is_answered(listening: socket.socket) -> None:
    with served(listening) as server:
        assert request(listening).recv(1000)
        late = socket.create_connection(listening.getsockname(), timeout=20)
        while len(server.server_state.connections) < 1:
            pass
        server.should_exit = True
        late.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert late.recv(1000).startswith(b"HTTP/1.1 200")
    late.close()


def test_a_port_that_is_closed_for_all_is_no_error_and_ends_no_answer(
    listening: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        while not goes_on.is_set():
            await asyncio.sleep(0.01)
        await answer(scope, receive, send)

    with served(listening, slow):
        waiting = request(listening)
        assert begun.wait(20)
        listening.shutdown(socket.SHUT_RDWR)  # as the supervisor does
        time.sleep(0.1)
        goes_on.set()
        assert waiting.recv(1000).startswith(b"HTTP/1.1 200")
    waiting.close()
    assert [line for line in caplog.records if line.name == "asyncio"] == []
