"""Many requests of one sender at one moment: who else asks is not behind them."""

import asyncio
import resource
import socket
import threading
from ipaddress import ip_network
from typing import Any

import pytest

from fsbench_web.platform.http.proxies import TrustedProxies
from fsbench_web.serving import bursts, web
from fsbench_web.serving.supervisor import open_socket
from tests.serving.running import answer, served

MANY, OTHER = "127.0.0.1", "127.0.0.2"


class Begun:
    """An application that notes whose request it began, and works in no turn of the loop."""

    def __init__(self) -> None:
        self.by: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.by.append(scope["client"][0])


def scope_of(client: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http", "client": (client, 1), "headers": list(headers), "scheme": "http"}


def ask(application: Any, scope: dict[str, Any]) -> asyncio.Task[None]:
    return asyncio.create_task(application(scope, None, None))


def test_of_others_requests_begin_at_once_and_all_are_begun() -> None:
    begun = Begun()

    async def at_one_moment() -> None:
        application = bursts.BurstMiddleware(begun)
        tasks = [ask(application, scope_of(MANY)) for _ in range(1000)]
        tasks += [ask(application, scope_of(OTHER)), ask(application, scope_of("2001:db8::1"))]
        await asyncio.gather(*tasks)
        # Nothing is kept of who has gone.
        while application._senders:
            await asyncio.sleep(0)

    asyncio.run(at_one_moment())
    assert begun.by[:3] == [MANY, OTHER, "2001:db8::1"]
    assert begun.by[3:] == [MANY] * 999


def test_requests_that_come_one_after_the_other_do_not_wait() -> None:
    begun = Begun()

    async def one_by_one() -> None:
        application = bursts.BurstMiddleware(begun)
        for count in range(1, 10):
            task = ask(application, scope_of(MANY))
            await asyncio.sleep(0)
            assert len(begun.by) == count
            await task
            while application._senders:
                await asyncio.sleep(0)

    asyncio.run(one_by_one())


def test_while_they_keep_coming_some_are_begun_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bursts, "HEARD_OUT", 10)
    begun = Begun()

    async def one_a_turn() -> None:
        application = bursts.BurstMiddleware(begun)
        tasks = []
        for _ in range(100):
            tasks.append(ask(application, scope_of(MANY)))
            await asyncio.sleep(0)
        assert 8 <= len(begun.by) <= 12
        await asyncio.gather(*tasks)

    asyncio.run(one_a_turn())
    assert len(begun.by) == 100


def test_who_gives_up_is_not_begun() -> None:
    begun = Begun()

    async def some_give_up() -> None:
        application = bursts.BurstMiddleware(begun)
        tasks = [ask(application, scope_of(MANY)) for _ in range(9)]
        await asyncio.sleep(0)
        for task in tasks[1:-1]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(some_give_up())
    assert len(begun.by) == 2


def test_clients_of_one_trusted_proxy_are_told_apart() -> None:
    begun = Begun()

    async def through_it() -> None:
        application = TrustedProxies(bursts.BurstMiddleware(begun), [ip_network("127.0.0.1/32")])
        for_many, for_other = (
            scope_of(MANY, (b"x-forwarded-for", client))
            for client in (b"198.51.100.1", b"198.51.100.2")
        )
        tasks = [ask(application, for_many) for _ in range(100)]
        await asyncio.gather(*tasks, ask(application, for_other))

    asyncio.run(through_it())
    assert begun.by[:2] == ["198.51.100.1", "198.51.100.2"]


def test_who_connects_behind_many_is_begun_before_them() -> None:
    """On a real server: those of one address are taken and heard, and then begun one by one."""
    begun: list[str] = []
    all_are_there = threading.Event()

    async def note(scope: Any, receive: Any, send: Any) -> None:
        begun.append(scope["client"][0])
        if len(begun) == 1:
            assert all_are_there.wait(60)  # the whole loop stands still
        await answer(scope, receive, send)

    def request(source: str) -> socket.socket:
        at = listening.getsockname()
        connection = socket.create_connection(at, timeout=60, source_address=(source, 0))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return connection

    with open_socket(MANY, 0) as listening, served(listening, bursts.BurstMiddleware(note)):
        try:
            connections = [request(MANY) for _ in range(200)]
            connections.append(request(OTHER))
        finally:
            all_are_there.set()
        for connection in connections:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            connection.close()
    assert len(begun) == 201
    assert begun.index(OTHER) < 20


def test_a_web_process_may_have_as_many_connections_open_as_its_host_lets_it() -> None:
    """systemd gives 1,024 files to who asks for no more; then nobody else could connect."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
    try:
        web.open_as_many_files_as_allowed()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
