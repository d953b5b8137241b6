"""Who may keep an answer: nobody, unless its view says so.

Nearly every page depends on who asks: what they may see and what they are offered. Anyone who comes
next to the same browser or the same proxy must not be shown it. So an answer that says nothing of
it is not stored anywhere. What says otherwise: static files (WhiteNoise), answers that are asked
for again with their ETag (``private, no-cache``: the API, the guide, renderings.answers), and the
picture and the embedded view of a public permalink, which are the same for everybody.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

CLOSED = "private, no-store"


def closed(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware outside of all that answers on its own."""

    def close(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", CLOSED)
        return response

    return close
