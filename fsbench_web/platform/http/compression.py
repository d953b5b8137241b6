"""Pages are sent compressed: a comparison of 300 KB is 20 KB then.

Only pages. Files that are downloaded and event streams leave as they are made, piece by piece; the
API's answers have strong ETags, which a compressed one could not keep; style sheets and scripts
have compressed copies of their own (WhiteNoise).
"""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedPages(GZipMiddleware):
    """Django's own, with its random bytes against guessing secrets by length (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
