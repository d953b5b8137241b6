"""Who may keep an answer: nobody, unless its view says so.

Nearly every page depends on who asks: what they may see and what they are offered. Whoever comes
next to the same browser or the same proxy must not be shown it. So an answer that says nothing of
it is not stored anywhere. What says otherwise: static files (WhiteNoise), answers that are asked
for again with their ETag (``private, no-cache``: the API, the guide, renderings.answers), and the
picture and the embedded view of a public permalink, which are the same for everybody.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

CLOSED = "private, no-store"


@sync_and_async_middleware
def closed(
    get_response: Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]],
) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """Middleware outside of all that answers by itself."""

    def close(response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Cache-Control", CLOSED)
        return response

    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            return close(await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        return close(get_response(request))  # type: ignore[arg-type]

    return synchronous
