"""A request whose end two readers could see in two places is refused, and its connection closed.

With ``Content-Length`` beside ``Transfer-Encoding`` a proxy that goes by the one and a server that
goes by the other take different bytes for the next request (request smuggling). RFC 9112 6.1 and
6.3: such a request may be refused and its connection must be closed; so is one of HTTP/1.0, which
knows no transfer coding. h11 takes both, goes by the coding, and keeps the connection.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fsbench_web.platform.http import problems

SENTENCE = (
    "The request says twice how long it is, with Content-Length and with Transfer-Encoding, or "
    "uses Transfer-Encoding in HTTP/1.0. It was refused, and nothing was done: send one of them."
)
Message = MutableMapping[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class FramingMiddleware:
    """ASGI middleware, outside of all others: they would wait for a body."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not _is_ambiguous(scope):
            await self._application(scope, receive, send)
            return
        media_type, body = "text/plain; charset=utf-8", SENTENCE
        if scope["path"].startswith("/api/"):
            errors = [{"field": None, "message": SENTENCE}]
            media_type, body = (
                problems.MEDIA_TYPE,
                json.dumps(problems.document(400, SENTENCE, errors)),
            )
        headers = [
            (b"content-type", media_type.encode()),
            (b"cache-control", b"no-store"),
            # What came behind it on this connection is not read.
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": body.encode()})


def _is_ambiguous(scope: Message) -> bool:
    names = {name.lower() for name, _ in scope["headers"]}
    return b"transfer-encoding" in names and (
        b"content-length" in names or scope.get("http_version") == "1.0"
    )
