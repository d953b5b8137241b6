"""Requests to an OpenID provider: each has so long as a whole, so many bytes, and one way to go."""

import io
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError

from fsbench_web.platform.openid_settings import is_safe

LIMIT_S = 10
MAX_BYTES = 1024 * 1024


class ProviderSession(requests.Session):
    """Waits and reads so much and no more, and goes only where it is sent."""

    def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
        if not is_safe(str(url)):
            raise requests.RequestException(f"{url} is not an https:// address")
        kwargs |= {"timeout": LIMIT_S, "allow_redirects": False, "stream": True}
        with _Deadline(LIMIT_S) as deadline:
            for prefix in ("https://", "http://"):
                self.mount(prefix, deadline)
            try:
                response = super().request(method, url, *args, **kwargs)
                with response.raw as answer:
                    body = self._body(answer, str(url))
            except (requests.RequestException, HTTPError) as error:
                # Whoever is cut off says many things.
                why = f"it took more than {LIMIT_S} s" if deadline.is_over else str(error)
                raise requests.RequestException(why) from None
            # What came of an answer before it was cut off is none.
            if deadline.is_over:
                raise requests.RequestException(f"it took more than {LIMIT_S} s")
        response.raw = io.BytesIO(body)
        return response

    @staticmethod
    def _body(answer: Any, url: str) -> bytes:
        body = bytearray()
        while part := answer.read1(MAX_BYTES, decode_content=True):
            body += part
            if len(body) > MAX_BYTES:
                raise requests.RequestException(f"{url} has more than {MAX_BYTES} bytes")
        return bytes(body)


class _Deadline(HTTPAdapter):
    """Shuts its connections under the waiting caller when its time is over.

    A timeout of ``requests`` limits each wait alone: a provider that drips could go on for ever.
    """

    def __init__(self, limit_s: float) -> None:
        super().__init__()
        self._end = time.monotonic() + limit_s
        self._timer = threading.Timer(limit_s, self._cut)
        self._timer.daemon = True
        self._connections: list[HTTPConnection] = []
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> "_Deadline":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    def _cut(self) -> None:
        waiting = [connection.sock for connection in self._connections]
        for one in (*waiting, *self._sockets):
            with suppress(OSError):
                if one is not None:
                    one.shutdown(socket.SHUT_RDWR)

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        deadline = self

        class Bounded(pool.ConnectionCls):
            def connect(self) -> None:
                deadline._connections.append(self)
                super().connect()
                # Of an answer that goes on the connection itself forgets it.
                deadline._sockets.append(self.sock)
                if deadline.is_over:  # it may not have been there yet to be cut off
                    raise ConnectTimeoutError(self, "too late")

        pool.ConnectionCls = Bounded
        return pool
