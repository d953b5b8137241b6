"""The content security policy: pages run and show what this server sends, and nothing else.

Django 5.2 has none of its own. A value that slips unescaped into a page, say from a tool's output,
then still cannot run a script or call another host.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        # plotly.js sizes and colours its charts with style attributes and a style element.
        "style-src 'self' 'unsafe-inline'",
        # data: and blob: are how plotly.js makes the picture one downloads.
        "img-src 'self' data: blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


@sync_and_async_middleware
def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]],
) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """Middleware that sends the policy with every response that has none of its own."""

    def add_policy(response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            return add_policy(await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        return add_policy(get_response(request))  # type: ignore[arg-type]

    return synchronous
