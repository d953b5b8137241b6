"""The body of every error of the API: a problem document (RFC 9457). Pure.

``detail`` and ``errors`` came first and are what programs read; ``type``, ``title`` and ``status``
are the standard's. No problem has a type of its own: what is wrong stands in ``detail``, and in
``errors`` with its place, so that the title is the status in words, as the standard wants it then.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


def document(status: int, detail: str, errors: Sequence[Any]) -> dict[str, Any]:
    """The body of an answer with this status."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    return {
        "detail": detail,
        "errors": list(errors),
        "type": "about:blank",
        "title": title,
        "status": status,
    }
