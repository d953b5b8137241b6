"""The ASGI handler: each request in one of a few threads that live as long as the process.

Django's own handler makes a thread for every request, which begins with a new connection to the
database, and takes each middleware that is not asynchronous there and back. A dozen requests at
once are then slow together. Here the whole chain of middleware is one visit to a thread, whose
connection stays open, and as many requests as a lane has threads are worked on; the others wait for
their turn.

There are three lanes, so that what takes long makes only its like wait: files that are sent, signs
of life, and everything else. Event streams wait in no lane: their views are coroutines, which begin
in a thread and go on without one.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

PAGES, FILES, SIGNS_OF_LIFE = 4, 2, 1
"""Threads of each lane, and so its connections to the database, in every web process."""


class Lanes(ASGIHandler):
    """Django's handler, with the synchronous chain of middleware."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        self.pages, self.files, self.signs_of_life = (
            _lane(name, threads, self._answer)
            for name, threads in (("page", PAGES), ("file", FILES), ("health", SIGNS_OF_LIFE))
        )

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        """As Django's own, in a thread of the request's lane."""
        response: HttpResponseBase = await self._lane_of(request)(request)
        response._handler_class = self.__class__  # type: ignore[attr-defined]
        return response

    def _lane_of(self, request: HttpRequest) -> Any:
        if request.path_info.startswith("/api/v1/health"):
            return self.signs_of_life
        if request.method == "POST" and request.content_type == "multipart/form-data":
            return self.files
        return self.pages

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        # Django does this at request_started and request_finished, in threads that have none.
        close_old_connections()
        try:
            response: HttpResponseBase = self.get_response(request)
            return response
        finally:
            close_old_connections()


def _lane(name: str, threads: int, answer: Callable[..., Any]) -> Any:
    executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
    return sync_to_async(answer, thread_sensitive=False, executor=executor)


def application() -> Lanes:
    """Django set up, and its ASGI application."""
    django.setup(set_prefix=False)
    return Lanes()
