"""Many requests of one sender that come at one moment are heard out before they are begun.

To take a connection and read what it asks for is a third of a millisecond, as long as no thread of
this process computes: a thread that does goes first, for a millisecond, at each call of the kernel.
Of 1,500 connections of one sender, whoever connects behind them is reached after half a second
where none of them is begun meanwhile, and after many seconds where all are. While requests of one
sender keep coming, only one of ``HEARD_OUT`` turns of the loop begins one of them; then each turn
begins one. Nobody is refused, and of everybody else requests begin at once, as all do at rest.

Senders are who they are behind trusted proxies. Connections themselves wait in the order in which
they came, in the kernel: what all of them cost until here, the last one waits for.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from fsbench_web.accounts.networks import network_of
from fsbench_web.platform.http.proxies import Application, Scope

HEARD_OUT = 256
QUIET = 3
"""Turns of the loop without another request: who has connected is read a turn or two later."""


@dataclass
class _Sender:
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    quiet: int = 0
    """Turns of the loop since the last request came."""
    turns: int = 0
    """Turns since one was begun."""


class BurstMiddleware:
    """ASGI middleware, of one event loop; inside of what knows the sender."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._senders: dict[str, _Sender] = {}

    async def __call__(self, scope: Scope, receive: object, send: object) -> None:
        if scope["type"] == "http":
            await self._take(network_of(scope["client"][0] if scope.get("client") else ""))
        await self._application(scope, receive, send)

    async def _take(self, name: str) -> None:
        """The first of a sender begins at once; those that follow it closely, in their turn."""
        loop = asyncio.get_running_loop()
        sender = self._senders.get(name)
        if sender is None:
            self._senders[name] = _Sender()
            loop.call_soon(self._turn, loop, name)
            return
        sender.quiet = 0
        begins = loop.create_future()
        sender.waiting.append(begins)
        await begins

    def _turn(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        """In each turn of the loop, until the sender was quiet and none of its requests waits."""
        sender = self._senders[name]
        sender.quiet += 1
        sender.turns += 1
        if sender.quiet > QUIET or sender.turns >= HEARD_OUT:
            sender.turns = 0
            if not self._begin_one(sender) and sender.quiet > QUIET:
                del self._senders[name]
                return
        loop.call_soon(self._turn, loop, name)

    def _begin_one(self, sender: _Sender) -> bool:
        while sender.waiting:
            begins = sender.waiting.popleft()
            if not begins.done():  # else it was given up meanwhile
                begins.set_result(None)
                return True
        return False
