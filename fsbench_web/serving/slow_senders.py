"""Ends connections whose sender takes too long to say what it wants.

uvicorn waits for the rest of a request's head for ever, so that whoever opens connections and sends
a byte now and then would have all the files that a process may open, and nobody else could connect.
What a whole request asks for may take as long as it takes, also its body.
"""

from collections.abc import Iterable
from typing import Any, Protocol

HEAD_WITHIN_S = 30.0


class Connection(Protocol):
    """uvicorn's own of one: ``cycle`` is its latest request, None before the first."""

    cycle: Any
    transport: Any


class SlowSenders:
    """Remembers since when each connection has no request under way."""

    def __init__(self, within_s: float = HEAD_WITHIN_S) -> None:
        self._within_s = within_s
        self._idle: dict[int, tuple[Connection, Any, float]] = {}

    def end(self, connections: Iterable[Connection], now: float) -> None:
        """Close those that have been without one for too long; called every second or so.

        A connection that was used in between is another matter: its latest request is another one.
        Those that send nothing at all between two requests are ended by uvicorn itself before.
        """
        idle = {}
        for one in connections:
            if one.cycle is not None and not one.cycle.response_complete:
                continue
            _, cycle, since = self._idle.get(id(one), (one, one.cycle, now))
            if cycle is not one.cycle:
                since = now
            idle[id(one)] = (one, one.cycle, since)
            if now - since > self._within_s:
                one.transport.close()
        self._idle = idle
