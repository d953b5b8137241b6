"""Lets no cache keep an answer unless its view allows it.

Nearly every page depends on its reader. Exceptions are static files, answers with an ETag
(``private, no-cache``), and the picture and embedded view of a public permalink.
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
