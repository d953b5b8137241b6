"""The live log of a run as server-sent events; rows are read once a second.

Between two reads a viewer holds no database connection. Events (HTML standard, 9.2): ``log`` with
the line's key as id, ``state``, and ``end`` when the log is complete. A browser that lost the
connection sends the last id. One account, or one address without an account, has
``MOST_STREAMS_OF_ONE`` streams in each web process, and 429 beyond. ``?once=1`` answers at once.
"""

import asyncio
import json
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_GET

from fsbench_web.accounts import rights
from fsbench_web.accounts.networks import network_of
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.formats.values import count_of
from fsbench_web.core.numbers import duration
from fsbench_web.platform import shutdown
from fsbench_web.platform.http import error_pages
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import logs

POLL_S = 1.0
# Proxies and browsers give up on a silent connection; a comment line keeps it.
HEARTBEAT_S = 15.0
# Then the browser connects anew: a viewer that vanished without a word is forgotten.
LONGEST_S = 600.0
LINES_AT_ONCE = 500
# Of one web process. 150 streams made its pages take 1.2 s.
MOST_STREAMS, MOST_STREAMS_OF_ONE = 64, 16
COME_AGAIN_S = 10

open_streams: Counter[str] = Counter()
"""How many each client has in this process."""
_counting = Lock()


class _Place:
    """One stream's place among those of a client; given back when nothing holds it."""

    def __init__(self, client: str) -> None:
        self._end = weakref.finalize(self, _leave, client)

    def give_back(self) -> None:
        self._end()


@dataclass(frozen=True)
class _PlacedStream:
    """A stream that gives its place back when its response is closed."""

    chunks: AsyncIterator[str]
    place: _Place

    def __aiter__(self) -> AsyncIterator[str]:
        return self.chunks

    def close(self) -> None:
        self.place.give_back()


def _take_place(client: str) -> _Place | str:
    """A place for one more stream of this client, or a sentence why there is none."""
    with _counting:
        if open_streams[client] >= MOST_STREAMS_OF_ONE:
            return (
                f"{MOST_STREAMS_OF_ONE} live logs are open from this account or address, which is "
                f"the limit. Close one, or ask again in {COME_AGAIN_S} seconds."
            )
        if open_streams.total() >= MOST_STREAMS:
            return (
                f"{MOST_STREAMS} live logs are open, which is the limit of this server. Ask again "
                f"in {COME_AGAIN_S} seconds."
            )
        open_streams[client] += 1
    return _Place(client)


def _leave(client: str) -> None:
    with _counting:
        open_streams[client] -= 1
        if not open_streams[client]:
            del open_streams[client]


@dataclass(frozen=True)
class Snapshot:
    """The state of a run and the log lines behind a given one."""

    state: dict[str, Any]
    lines: list[tuple[int, str, str, str]]
    has_ended: bool

    @property
    def is_complete(self) -> bool:
        return self.has_ended and len(self.lines) < LINES_AT_ONCE


def read_snapshot(run_id: int, after: int) -> Snapshot | None:
    """What has happened behind log line ``after``; None when there is no such run."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return None
    # The state is read before the lines: an ended run cannot get lines that are missed here.
    logged_lines = logs.lines(run, after, LINES_AT_ONCE)
    return Snapshot(
        state={
            "state": run.state,
            "label": RunState(run.state).label,
            "phase": run.phase,
            "progress": run.progress,
            "remaining": "" if run.remaining_s is None else duration(run.remaining_s),
            "cancelling": run.cancel_requested_at is not None,
        },
        lines=[(line.id, f"{line.at:%H:%M:%S}", line.stream, line.text) for line in logged_lines],
        has_ended=run.has_ended,
    )


def _read_and_let_go(run_id: int, after: int, user_id: int | None) -> Snapshot | None:
    """``read_snapshot`` as this account may read now, minutes after the request was let in."""
    try:
        users = User.objects.select_related("person").filter(is_active=True)
        account = users.filter(pk=user_id).first() if user_id is not None else None
        user = account or AnonymousUser()
        if not rights.may(user, rights.Action.READ):
            return None
        with rights.as_user(user):
            return read_snapshot(run_id, after)
    finally:
        connection.close()


# Not thread sensitive: any thread of the pool will do, and none is kept between two reads.
_read: Callable[[int, int, int | None], Awaitable[Snapshot | None]] = sync_to_async(
    _read_and_let_go, thread_sensitive=False
)
Read = Callable[[int, int], Awaitable[Snapshot | None]]


def _reading_as(user_id: int | None) -> Read:
    """What is streamed is read outside of the request, where nothing would be hidden."""

    async def read(run_id: int, after: int) -> Snapshot | None:
        return await _read(run_id, after, user_id)

    return read


@require_GET
@requires(Action.READ)
async def events(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """The stream behind the line that ``Last-Event-ID`` (or ``?after=``) names."""
    text = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    after = count_of(text, most_digits=18) or 0
    user = rights.person()  # the gate has asked already, so that this is no query
    user_id = user.pk if isinstance(user, User) else None
    is_once = "once" in request.GET
    address = network_of(request.META.get("REMOTE_ADDR", ""))
    place = None if is_once else _take_place(address if user_id is None else f"account {user_id}")
    if isinstance(place, str):
        return error_pages.too_many(request, place, COME_AGAIN_S)
    read = _reading_as(user_id)
    first = await read(run_id, after)
    if first is None:
        return HttpResponse(f"There is no run {run_id}.", status=404, content_type="text/plain")
    if first.has_ended and not first.lines and "Last-Event-ID" in request.headers:
        # 204 tells the browser to stop connecting.
        return HttpResponse(status=204)
    chunks = stream(run_id, after, first, read, longest_s=0 if is_once else LONGEST_S)
    response = StreamingHttpResponse(
        chunks if place is None else _PlacedStream(chunks, place),
        content_type="text/event-stream; charset=utf-8",
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold the lines back
    return response


async def stream(
    run_id: int,
    after: int,
    snapshot: Snapshot | None,
    read: Read = _reading_as(None),  # noqa: B008 - a function, not a value
    poll_s: float = POLL_S,
    longest_s: float = LONGEST_S,
) -> AsyncIterator[str]:
    """The events of a run until it ends, from ``snapshot`` on; with ``longest_s`` 0 of it alone."""
    loop = asyncio.get_running_loop()
    started = last_sent = loop.time()
    sent: dict[str, Any] = {}
    yield "retry: 2000\n\n"
    while snapshot is not None:
        for line_id, at, name, text in snapshot.lines:
            after = line_id
            yield _event("log", {"at": at, "stream": name, "text": text}, line_id)
        if snapshot.state != sent:
            sent = snapshot.state
            yield _event("state", sent)
        elif not snapshot.lines and loop.time() - last_sent >= HEARTBEAT_S:
            yield ": still here\n\n"
        else:
            last_sent = last_sent if not snapshot.lines else loop.time()
        if snapshot.is_complete:
            yield _event("end", {})
            return
        if loop.time() - started >= longest_s or shutdown.has_begun():
            return
        if len(snapshot.lines) < LINES_AT_ONCE:
            await asyncio.sleep(poll_s)
        snapshot = await read(run_id, after)


def _event(name: str, data: dict[str, Any], event_id: int | None = None) -> str:
    # JSON has no raw newline, so that a log line can never start an event of its own.
    head = "" if event_id is None else f"id: {event_id}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n"
