"""One web process: uvicorn on a socket that the supervisor has opened, and keeps.

The supervisor keeps the socket, so that a restart refuses no connection and no other program can
take the port in between: what comes while no process is there waits in the socket's backlog.
"""

import asyncio
import errno
import os
import resource
import socket
import sys
from types import FrameType
from typing import Any

import uvicorn

from fsbench_web.platform import shutdown as ending
from fsbench_web.renderings import answers, reading
from fsbench_web.serving.slow_senders import Connection

# How long answers that are under way may hold up the end. Event streams end within a second or two,
# and browsers connect again by themselves.
GRACE_S = 20
# A connection that was accepted in the last moment has sent its request after this.
SETTLE_S = 0.3
# A thread that waited for the database gets on after this, though another computes. With Python's
# own 5 ms each of an upload's many answers waited that long for every page that was being made.
SWITCH_EVERY_S = 0.001
# Connections that wait until a process takes them; Linux's own limit. Of those beyond it each tries
# again after 1, 3, 7 seconds, whoever it is.
BACKLOG = 4096
# asyncio takes as many connections at once as its backlog says. One at a time, a process that works
# leaves the next to one that rests (docs/performance.md, Servers).
TAKES_AT_ONCE = 1


class Server(uvicorn.Server):
    """Answers all that it accepted before it ends."""

    def __init__(
        self, config: uvicorn.Config, listening: socket.socket, ready_fd: int | None = None
    ) -> None:
        """``ready_fd`` is a descriptor to write to, and to close, once connections are taken."""
        super().__init__(config)
        self._shared = listening
        self._ready_fd = ready_fd

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        ending.begin()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # A descriptor of its own, which asyncio closes in the end.
        await super().startup([self._shared.dup()])
        asyncio.get_running_loop().set_exception_handler(self._on_loop_error)
        self._shared.listen(BACKLOG)  # which asyncio made as short as what it takes at once
        if self._ready_fd is not None:
            os.write(self._ready_fd, b"ready")
            os.close(self._ready_fd)
            self._ready_fd = None

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """As asyncio does, but where the supervisor closed the port for all: none comes any more.

        asyncio would try to take the next one again and again until this process ends.
        """
        error = context.get("exception")
        is_open = self._shared.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if is_open or not isinstance(error, OSError) or error.errno != errno.EINVAL:
            loop.default_exception_handler(context)
            return
        for server in self.servers:
            server.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn closes connections without a request at once, also those that are a millisecond
        # old and whose request is on its way. The socket stays open for the other processes.
        for server in self.servers:
            server.close()
        await asyncio.sleep(SETTLE_S)
        await super().shutdown(sockets)


def settings_of(application: object) -> uvicorn.Config:
    """How uvicorn serves an application here: its name, or the thing itself."""
    return uvicorn.Config(
        application,  # type: ignore[arg-type]
        http=Connection,
        backlog=TAKES_AT_ONCE,
        lifespan="off",
        log_level="warning",
        access_log=False,
        # Its lines go the way of all others (fsbench_web.platform.log_lines).
        log_config=None,
        timeout_graceful_shutdown=GRACE_S,
        # fsbench_web.platform.http.proxies does that, for untrusted senders too.
        proxy_headers=False,
    )


def open_as_many_files_as_allowed() -> None:
    """Each connection is one. Where a process may open no more, nobody can connect."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


def main(descriptor: int, ready_fd: int | None = None) -> None:
    open_as_many_files_as_allowed()
    sys.setswitchinterval(SWITCH_EVERY_S)
    config = settings_of("fsbench_web.serving.asgi:application")
    try:
        Server(config, socket.socket(fileno=descriptor), ready_fd).run()
    finally:
        # The end of this process waits for its threads, and these for what is drawn up for them.
        answers.end()
        reading.end()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
