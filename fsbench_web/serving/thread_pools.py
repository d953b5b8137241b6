"""The ASGI handler: each request in one of a few threads that live as long as the process.

Django's own handler makes a thread for every request, which begins with a new connection to the
database, and takes each middleware that is not asynchronous there and back. A dozen requests at
once are then slow together. Here the whole chain of middleware is one visit to a thread, whose
connection stays open, and as many requests as a pool has threads are worked on; the others wait for
their turn.

There are six pools, so that what takes long makes only its like wait: files that are sent, what is
drawn up (reports, workbooks, pictures), health checks, static files, what waits for the answer of
somebody else's server (of single sign-on, of e-mail, a webhook), and everything else. Event streams
wait in no pool: their views are coroutines, which begin in a thread and go on without one.

Threads of one process compute one at a time. Four pages that are begun together are all ready when
the last is; one after the other, the first is ready after a quarter of that. So only ``TURNS``
pages are made at once, which is enough for one to compute while another waits for the database. A
page that takes longer than ``LONG_S`` gives its turn to the next, and goes on beside it. Senders
have their turns one after the other, however much each of them asks for (``turns``).

Small files go before pages, which are several times their work: twenty that come at one moment are
stored in less than half a second, and the pages of that half second wait as long. Nobody waits for
files longer than ``FILES_FIRST_S``, however many keep coming.

What is drawn up is worked on one at a time, when no page is under way or when it has waited for
``PAGES_FIRST_S``, and in a process of its own as far as it can be (``renderings``). Beyond some
that wait, of one client and of all, whoever asks is told to come again (429).
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from fsbench_web.accounts.networks import network_of
from fsbench_web.platform.http import error_pages
from fsbench_web.renderings.addresses import is_rendered
from fsbench_web.serving.fair_queue import Turns

PAGES, FILES, RENDERINGS, HEALTH_CHECKS, STATIC_FILES, OTHERS_ANSWERS = 4, 2, 2, 1, 1, 2
"""Threads of each pool, and so its connections to the database, in every web process."""
TURNS = 2
LONG_S = 1.0
SMALL_FILE_BYTES = 64 * 1024
FILES_FIRST_S = 0.3
PAGES_FIRST_S = 0.5
MOST_RENDERINGS, MOST_RENDERINGS_OF_ONE = 32, 8
"""What is drawn up and what waits for it: of all clients, and of one address."""
RESTS = 2.0
"""What is drawn up has a third of what this process computes, however much of it is asked for."""
COME_AGAIN_S = 5
TOO_MANY = (
    "The server draws up as many reports, workbooks and pictures as it can, and more wait than it "
    f"keeps waiting. Ask again in {COME_AGAIN_S} seconds."
)

# A server that keeps silent has ten seconds and more for each of these.
_ASKS_OTHERS = re.compile(
    r"/account/(?:sign-in/service|email)/.*|(?:/api/v1)?/watches/[0-9]+/test/?", re.DOTALL
)
_FIRST_INNER = "fsbench_web.platform.http.static_files.StaticFiles"


class ThreadPoolHandler(ASGIHandler):
    """Django's handler, with the synchronous chain of middleware."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        self.pages = ThreadPool("page", PAGES, self._answer, turns=TURNS)
        self.files = ThreadPool("file", FILES, self._answer)
        self.renderings = ThreadPool("rendering", RENDERINGS, self._answer, turns=1, rests=RESTS)
        self.health_checks = ThreadPool("health", HEALTH_CHECKS, self._answer)
        self.static_files = ThreadPool("static", STATIC_FILES, self._answer)
        self.others_answers = ThreadPool("other", OTHERS_ANSWERS, self._answer)
        self._small_files = 0
        self._files_are_done = asyncio.Event()
        self._pages = 0
        self._pages_are_done = asyncio.Event()
        self._drawn_up: Counter[str] = Counter()
        self._refuse = _with_headers(_retry_later)

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        """As Django's own, in a thread of the request's pool."""
        pool = self._pool_of(request)
        is_small_file = pool is self.files and _length(request) <= SMALL_FILE_BYTES
        is_page = pool is self.pages
        self._small_files += is_small_file
        self._pages += is_page
        try:
            if pool is self.renderings:
                response = await self._drawn_up_in_turn(request)
            else:
                if is_page and self._small_files:
                    await self._wait_for_small_files()
                response = await pool(request)
        finally:
            self._small_files -= is_small_file
            self._pages -= is_page
            _set_if(self._files_are_done, not self._small_files)
            _set_if(self._pages_are_done, not self._pages)
        return response

    async def _wait_for_small_files(self) -> None:
        await _wait_for(self._files_are_done, FILES_FIRST_S)

    async def _drawn_up_in_turn(self, request: HttpRequest) -> HttpResponseBase:
        client = network_of(request.META.get("REMOTE_ADDR", ""))
        waiting = self._drawn_up
        if waiting.total() >= MOST_RENDERINGS or waiting[client] >= MOST_RENDERINGS_OF_ONE:
            return self._refuse(request)
        waiting[client] += 1
        try:
            return await self.renderings(request, self._wait_for_pages)
        finally:
            waiting[client] -= 1
            if not waiting[client]:
                del waiting[client]

    async def _wait_for_pages(self) -> None:
        if self._pages:
            await _wait_for(self._pages_are_done, PAGES_FIRST_S)

    def _pool_of(self, request: HttpRequest) -> "ThreadPool":
        if request.path_info.startswith("/api/v1/health"):
            return self.health_checks
        if request.path_info.startswith(settings.STATIC_URL):
            return self.static_files
        if _ASKS_OTHERS.fullmatch(request.path_info):
            return self.others_answers
        if request.method == "POST" and request.content_type == "multipart/form-data":
            return self.files
        return self.renderings if is_rendered(request.path_info) else self.pages

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        # Django does this at request_started and request_finished, in threads that have none.
        close_old_connections()
        reset_queries()
        try:
            response: HttpResponseBase = self.get_response(request)
            return response
        finally:
            close_old_connections()


def _retry_later(request: HttpRequest) -> HttpResponse:
    return error_pages.too_many(request, TOO_MANY, COME_AGAIN_S)


def _with_headers(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """In the outer middleware, which logs, counts and sets headers, and asks no database."""
    outer = settings.MIDDLEWARE[: settings.MIDDLEWARE.index(_FIRST_INNER)]
    for path in reversed(outer):
        answer = import_string(path)(answer)
    return answer


async def _wait_for(happens: asyncio.Event, at_most_s: float) -> None:
    happens.clear()
    with suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            await happens.wait()


def _set_if(event: asyncio.Event, has_happened: bool) -> None:
    if has_happened:
        event.set()


def _length(request: HttpRequest) -> float:
    """Bytes of the body; of one that does not say, more than any."""
    length = request.META.get("CONTENT_LENGTH") or ""
    return int(length) if length.isdecimal() else float("inf")


class ThreadPool:
    """Some threads, and who may use them."""

    def __init__(
        self,
        name: str,
        threads: int,
        answer: Callable[[HttpRequest], HttpResponseBase],
        turns: int | None = None,
        rests: float = 0.0,
    ) -> None:
        """``turns``: how many requests of less than ``LONG_S`` are worked on; None: all threads.

        ``rests``: the next one begins after this many times of what the one before computed.
        """

        def timed(request: HttpRequest) -> tuple[HttpResponseBase, float]:
            began = time.thread_time()
            return answer(request), time.thread_time() - began

        executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._in_thread = sync_to_async(timed, thread_sensitive=False, executor=executor)
        self._rests = rests
        self._turns = Turns(min(turns or threads, threads), threads)

    async def __call__(
        self, request: HttpRequest, before: Callable[[], Awaitable[None]] | None = None
    ) -> HttpResponseBase:
        """``before`` is waited for when it is this request's turn."""
        await self._turns.take(network_of(request.META.get("REMOTE_ADDR", "")))
        has_turn = True

        def release_turn() -> None:
            nonlocal has_turn
            if has_turn:
                has_turn = False
                self._turns.give()

        loop, computed_s = asyncio.get_running_loop(), 0.0
        long = loop.call_later(LONG_S, release_turn)
        try:
            if before is not None:
                await before()
            response, computed_s = await self._in_thread(request)
            return response
        finally:
            long.cancel()
            self._turns.leave()
            if self._rests:
                loop.call_later(self._rests * computed_s, release_turn)
            else:
                release_turn()


def application() -> ThreadPoolHandler:
    """Django set up, and its ASGI application."""
    django.setup(set_prefix=False)
    # They are called where the connections are. Here each would cost a thread for every request.
    request_started.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)
    return ThreadPoolHandler()
