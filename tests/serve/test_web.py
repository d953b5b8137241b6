"""How web processes share new connections: who works on less takes more of them."""

import asyncio
import socket
from collections.abc import Iterator
from itertools import chain

import pytest

from fsbench_web.serving.supervisor import open_socket
from fsbench_web.serving.web import Acceptor


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with open_socket("127.0.0.1", 0) as made:
        yield made


class Taken(asyncio.Protocol):
    """Counts the connections of one of the processes."""

    def __init__(self, connections: list[asyncio.BaseTransport]) -> None:
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connections.append(transport)


async def taken_of(
    listening: socket.socket, busy: list[int], count: int
) -> list[list[asyncio.BaseTransport]]:
    """The connections that each takes of ``count`` that come together.

    ``busy``: how many requests each works on before, and does not end; each connection is one more.
    """
    taken: list[list[asyncio.BaseTransport]] = [[] for _ in busy]
    # A loop knows a descriptor once; in each process it is another one, of the same socket.
    sockets = [listening, *(listening.dup() for _ in busy[1:])]
    acceptors = [
        Acceptor(
            own,
            lambda mine=mine: Taken(mine),  # type: ignore[misc]
            lambda mine=mine, before=before: before + len(mine),  # type: ignore[misc]
        )
        for own, mine, before in zip(sockets, taken, busy, strict=True)
    ]
    clients = [socket.create_connection(listening.getsockname()) for _ in range(count)]
    while sum(map(len, taken)) < count:
        await asyncio.sleep(0.001)
    for acceptor in acceptors:
        acceptor.close()
    for own in sockets[1:]:
        own.close()
    for client in clients:
        client.close()
    for transport in chain(*taken):
        transport.close()
    await asyncio.sleep(0)
    return taken


def test_every_connection_is_taken_once(listening: socket.socket) -> None:
    taken = asyncio.run(asyncio.wait_for(taken_of(listening, [0], 30), 20))
    assert len(taken[0]) == 30


def test_who_works_on_less_takes_more(listening: socket.socket) -> None:
    # In one loop and with ten connections, so that no scheduler has a say in it.
    rested, busy = asyncio.run(asyncio.wait_for(taken_of(listening, [0, 100], 10), 20))
    assert len(rested) > len(busy)


def test_after_the_end_connections_wait_for_the_next(listening: socket.socket) -> None:
    async def end_and_begin() -> None:
        mine: list[asyncio.BaseTransport] = []
        Acceptor(listening, lambda: Taken(mine), lambda: 0).close()
        with socket.create_connection(listening.getsockname()):
            await asyncio.sleep(0.05)
            assert mine == []
            follower = Acceptor(listening, lambda: Taken(mine), lambda: 5)
            while not mine:
                await asyncio.sleep(0.001)
            follower.close()
            mine[0].close()
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(end_and_begin(), 20))


class Full(socket.socket):
    """A process that has as many files open as it may, once."""

    refused = 0

    def accept(self) -> tuple[socket.socket, object]:
        if not self.refused:
            self.refused = 1
            raise OSError(24, "Too many open files")
        return super().accept()


def test_it_tries_again_when_too_many_files_were_open(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsbench_web.serving.web.TRIES_AGAIN_S", 0.01)
    full = Full(fileno=listening.detach())
    with full:
        taken = asyncio.run(asyncio.wait_for(taken_of(full, [0], 3), 20))
    assert full.refused
    assert len(taken[0]) == 3
