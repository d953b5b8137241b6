"""Style sheets, scripts and pictures, with the names and headers that WhiteNoise gives them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise with answers in one piece: Django warns of its iterators under ASGI."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        static_response = static_file.get_response(request.method, request.META)
        body = b""
        if static_response.file is not None:
            with static_response.file:
                body = static_response.file.read()
        answer = HttpResponse(body, status=int(static_response.status))
        # Only what WhiteNoise says: an answer without a body, say, has no content type.
        del answer["Content-Type"]
        for name, value in static_response.headers:
            answer[name] = value
        return answer
