"""Whose request is worked on next: senders in turn, whatever each of them asks for.

Ten loops of one client over a page that takes half a second would be ten requests before
everybody else's, each time; here they are one, and then the others' turn comes.
"""

import asyncio
from collections import OrderedDict, deque
from contextlib import suppress


class Turns:
    """So many requests at once, of senders in turn. Of one event loop.

    ``at_once`` requests that have a turn, in ``threads``: one that takes long gives its turn away
    and keeps its thread. Nobody gets a turn without a thread, since where all threads are taken
    the next one is begun by who comes next, not by who asked first.
    """

    def __init__(self, at_once: int, threads: int) -> None:
        self._free, self._free_threads = at_once, threads
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, sender: str) -> None:
        """Wait until it is this sender's turn; then there is a thread, too."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(sender, deque()).append(turn)
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
                self.leave()
            else:
                with suppress(KeyError, ValueError):
                    self._waiting[sender].remove(turn)
                    if not self._waiting[sender]:
                        del self._waiting[sender]
            raise

    def give(self) -> None:
        """Let another request begin."""
        self._free += 1
        self._next()

    def leave(self) -> None:
        """The thread is free again."""
        self._free_threads += 1
        self._next()

    def _next(self) -> None:
        while self._waiting and self._free and self._free_threads:
            sender, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[sender] = turns  # behind all others
            if not turn.done():
                self._free -= 1
                self._free_threads -= 1
                turn.set_result(None)
