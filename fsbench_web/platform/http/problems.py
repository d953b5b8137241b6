"""The body of every error of the API: a problem document (RFC 9457). Pure.

No problem has a type of its own, so the title is the status in words, as the standard says.
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
