"""One web process: uvicorn on a socket that the supervisor has opened, and keeps.

The supervisor keeps the socket, so that a restart refuses no connection and no other program can
take the port in between: what comes while no process is there waits in the socket's backlog.
"""

import asyncio
import socket
import sys
from types import FrameType

import uvicorn

from fsbench_web import ending

# How long answers that are under way may hold up the end. Event streams end within a second or two,
# and browsers connect again by themselves.
GRACE_S = 20
# A connection that was accepted in the last moment has sent its request after this.
SETTLE_S = 0.3
# A thread that waited for the database gets on after this, though another computes. With Python's
# own 5 ms each of an upload's forty answers waited that long for every page that was being made.
SWITCH_EVERY_S = 0.001


class Server(uvicorn.Server):
    """Answers all that it accepted before it ends."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        ending.begin()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn closes connections without a request at once, also those that are a millisecond
        # old and whose request is on its way.
        for server in self.servers:
            server.close()
        await asyncio.sleep(SETTLE_S)
        await super().shutdown(sockets)


def main(descriptor: int) -> None:
    sys.setswitchinterval(SWITCH_EVERY_S)
    listening = socket.socket(fileno=descriptor)
    config = uvicorn.Config(
        "fsbench_web.asgi:application",
        log_level="warning",
        access_log=False,
        # Its lines go the way of all others (fsbench_web.log_lines).
        log_config=None,
        timeout_graceful_shutdown=GRACE_S,
        # fsbench_web.proxies does that, for untrusted senders too.
        proxy_headers=False,
    )
    Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]))
