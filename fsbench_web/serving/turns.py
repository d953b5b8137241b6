"""How many requests of one client, and of all, a web process works on at once. Others wait.

Health checks, static files and requests that wait for another server need no turn. With 200
parallel connections a page of another client took 0.2 s, and 0.8 s with twice the turns.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from fsbench_web.accounts.networks import network_of
from fsbench_web.renderings.addresses import is_rendered

# A silent server may hold up each of these for ten seconds: single sign-on, e-mail, a webhook.
_ASKS_ANOTHER_SERVER = re.compile(
    r"/account/(?:sign-in/service|email)/.*|(?:/api/v1)?/watches/[0-9]+/test/?", re.DOTALL
)


class Turns:
    """So many requests at once, of all clients and of one. Of one event loop."""

    def __init__(self, at_once: int, at_once_of_one: int) -> None:
        self._at_once_of_one = at_once_of_one
        self._turns = asyncio.Semaphore(at_once)
        self._turns_of: dict[str, asyncio.Semaphore] = {}
        self.requests: Counter[str] = Counter()
        """By client, those under way and those that wait."""

    @asynccontextmanager
    async def take(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it."""
        self.requests[client] += 1
        own = self._turns_of.setdefault(client, asyncio.Semaphore(self._at_once_of_one))
        try:
            async with own, self._turns:
                yield
        finally:
            self.requests[client] -= 1
            if not self.requests[client]:
                del self.requests[client], self._turns_of[client]


class Handler(ASGIHandler):
    """Django's handler, which gives each request its turn once its body has arrived."""

    MOST_RENDERED, MOST_RENDERED_OF_ONE = 32, 8
    """Reports, workbooks and pictures under way and waiting; beyond these the answer is 429."""

    def __init__(self) -> None:
        super().__init__()
        self.pages, self.uploads, self.rendered = Turns(4, 2), Turns(4, 2), Turns(1, 1)

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        turns = self.turns_for(request)
        client = network_of(request.META.get("REMOTE_ADDR", ""))
        if turns is self.rendered and (
            turns.requests.total() >= self.MOST_RENDERED
            or turns.requests[client] >= self.MOST_RENDERED_OF_ONE
        ):
            # api.protocol.limits refuses it, inside the middleware that logs and sets headers.
            request.is_one_too_many = True  # type: ignore[attr-defined]
            turns = None
        async with turns.take(client) if turns else nullcontext():
            return await super().run_get_response(request)

    def turns_for(self, request: HttpRequest) -> Turns | None:
        """Which turns a request takes; None: none."""
        path = request.path_info
        if path.startswith(("/api/v1/health", settings.STATIC_URL)):
            return None
        if _ASKS_ANOTHER_SERVER.fullmatch(path):
            return None
        if request.method == "POST" and request.content_type == "multipart/form-data":
            return self.uploads
        return self.rendered if is_rendered(path) else self.pages
