"""Ends connections whose sender takes too long to say what it wants.

uvicorn waits for the rest of a request's head for ever, so that whoever opens connections and sends
a byte now and then would have all the files that a process may open, and nobody else could connect.
What a whole request asks for may take as long as it takes, also its body.
"""

import asyncio
from contextvars import ContextVar
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from fsbench_web.serving.framing import Application, Message

HEAD_WITHIN_S = 30.0


class IdleTimeout:
    """How long a connection may be without a request under way; over, it is closed."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._under_way = 0
        self._end: asyncio.TimerHandle | None = None
        self._begin()

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(HEAD_WITHIN_S, self._transport.close)

    def stop(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None

    def request_begins(self) -> None:
        self._under_way += 1
        self.stop()

    def request_ends(self) -> None:
        self._under_way -= 1
        if not self._under_way and not self._transport.is_closing():
            self._begin()


_of_connection: ContextVar[IdleTimeout | None] = ContextVar("patience", default=None)


class Connection(H11Protocol):
    """uvicorn's own, whose requests know the connection that they came on.

    Between two requests of which nothing is sent uvicorn itself closes after 5 s.
    """

    patience: IdleTimeout

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.patience = IdleTimeout(transport)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        _of_connection.set(self.patience)  # a request is begun as a task, with this context
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.patience.stop()
        super().connection_lost(exc)


class ActiveRequestMiddleware:
    """ASGI middleware, outermost: a connection with a request under way is not slow."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        patience = _of_connection.get()
        if scope["type"] != "http" or patience is None:
            await self._application(scope, receive, send)
            return
        patience.request_begins()
        try:
            await self._application(scope, receive, send)
        finally:
            patience.request_ends()
