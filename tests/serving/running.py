"""A web process's server in a thread of the tests, with an application of theirs."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fsbench_web.serving.web import Server, config_for


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """What a page is for these tests: its body read, and a word said."""
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-length", b"4")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"here"})


@contextmanager
def served(listening: socket.socket, application: Any = answer) -> Iterator[Server]:
    """Answers on the socket until the end of the block, and does not close it."""
    server = Server(config_for(application))
    sockets = [listening.dup()]
    # Signals are the business of the main thread.
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets)))
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()
