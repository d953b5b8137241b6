"""One web process: uvicorn on a socket that the supervisor has opened, and keeps.

The supervisor keeps the socket, so that a restart refuses no connection and no other program can
take the port in between: what comes while no process is there waits in the socket's backlog.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn

from fsbench_web.platform import shutdown as ending
from fsbench_web.renderings import answers
from fsbench_web.serving import thread_pools
from fsbench_web.serving.slow_senders import SlowSenders

# How long answers that are under way may hold up the end. Event streams end within a second or two,
# and browsers connect again by themselves.
GRACE_S = 20
# A connection that was accepted in the last moment has sent its request after this.
SETTLE_S = 0.3
# A thread that waited for the database gets on after this, though another computes. With Python's
# own 5 ms each of an upload's many answers waited that long for every page that was being made.
SWITCH_EVERY_S = 0.001
# How long a process leaves a new connection to the others, for each request that it works on.
LEAVES_TO_OTHERS_S = 0.002
LEAVES_AT_MOST_S = 0.025
# After an accept that failed: too many files are open.
TRIES_AGAIN_S = 0.5


class Acceptor:
    """Takes new connections from the socket that all web processes share, one at a time.

    A process that works on more than the others lets them be quicker. asyncio's own server takes
    every connection that waits at once: of 20 uploads at one moment a single process had 14 to
    all 20, and the other one rested.
    """

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        under_way: Callable[[], int],
    ) -> None:
        self._listening, self._protocol, self._under_way = listening, protocol, under_way
        self._loop = asyncio.get_running_loop()
        self._wakes: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        listening.setblocking(False)
        self._watch()

    def close(self) -> None:
        """Take no more. The socket stays open, for the others and those who come after."""
        self._loop.remove_reader(self._listening)
        if self._wakes is not None:
            self._wakes.cancel()

    def _watch(self) -> None:
        self._loop.add_reader(self._listening, self._somebody_waits)

    def _somebody_waits(self) -> None:
        requests = self._under_way()
        if not requests:
            self._take()
            return
        self._loop.remove_reader(self._listening)
        leaves_s = min(requests * LEAVES_TO_OTHERS_S, LEAVES_AT_MOST_S)
        self._wakes = self._loop.call_later(leaves_s, self._take_and_watch)

    def _take_and_watch(self) -> None:
        if self._take():
            self._watch()

    def _take(self) -> bool:
        """Accept one if there is one; False where it is tried again later."""
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return True  # another process was quicker
        except OSError:
            self._loop.remove_reader(self._listening)
            self._wakes = self._loop.call_later(TRIES_AGAIN_S, self._watch)
            return False
        connection.setblocking(False)
        task = self._loop.create_task(
            self._loop.connect_accepted_socket(self._protocol, connection)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True


class Server(uvicorn.Server):
    """Answers all that it accepted before it ends."""

    def __init__(
        self, config: uvicorn.Config, listening: socket.socket, tells: int | None = None
    ) -> None:
        """``tells`` is a descriptor to write to, and to close, once connections are taken."""
        super().__init__(config)
        self._listening = listening
        self._tells = tells
        self._acceptor: Acceptor | None = None
        self._slow_senders = SlowSenders()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            now = asyncio.get_running_loop().time()
            self._slow_senders.end(list(self.server_state.connections), now)  # type: ignore[arg-type]
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        ending.begin()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])  # its own server would take all connections that wait

        def protocol() -> asyncio.Protocol:
            made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )
            return made

        self._acceptor = Acceptor(self._listening, protocol, thread_pools.under_way)
        if self._tells is not None:
            os.write(self._tells, b"ready")
            os.close(self._tells)
            self._tells = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn closes connections without a request at once, also those that are a millisecond
        # old and whose request is on its way.
        if self._acceptor is not None:
            self._acceptor.close()
        await asyncio.sleep(SETTLE_S)
        await super().shutdown(sockets)


def main(descriptor: int, tells: int | None = None) -> None:
    sys.setswitchinterval(SWITCH_EVERY_S)
    config = uvicorn.Config(
        "fsbench_web.serving.asgi:application",
        log_level="warning",
        access_log=False,
        # Its lines go the way of all others (fsbench_web.platform.log_lines).
        log_config=None,
        timeout_graceful_shutdown=GRACE_S,
        # fsbench_web.platform.proxies does that, for untrusted senders too.
        proxy_headers=False,
    )
    try:
        Server(config, socket.socket(fileno=descriptor), tells).run()
    finally:
        # The end of this process waits for its threads, and these for what is drawn up for them.
        answers.end()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
