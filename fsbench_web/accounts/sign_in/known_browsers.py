"""Browsers in which an account was opened with its password: strangers cannot close them to it.

What many failures of strangers bring about (accounts.sign_in.throttle) must not keep the owner out.
A browser keeps a mark of its own after a sign-in, signed by the server, for the name that was used;
attempts with that name are then counted by the mark and by nothing else (OWASP, "Slow Down Online
Guessing Attacks with Device Cookies"). Nobody is signed in by it: the password is asked for.
"""

import hashlib
import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from fsbench_web.accounts.sign_in import throttle

_AGE_S = 180 * 24 * 3600
_SALT = "fsbench_web.accounts.sign_in.known_browsers"


def cookie_name() -> str:
    """Browsers take ``__Host-`` from this host alone, with Secure and for all paths."""
    return "__Host-fsbench-known" if settings.HTTPS else "fsbench-known"


def remember(response: HttpResponse, username: str) -> None:
    """The browser that gets this answer has just opened the account."""
    response.set_signed_cookie(
        cookie_name(),
        f"{_digest(username)}:{secrets.token_urlsafe(12)}",
        salt=_SALT,
        max_age=_AGE_S,
        httponly=True,
        samesite="Lax",
        secure=settings.HTTPS,
    )


def mark_of(request: HttpRequest, username: str) -> str:
    """The mark of a browser that opened this account before; empty for every other."""
    cookie = request.get_signed_cookie(cookie_name(), default="", salt=_SALT, max_age=_AGE_S)
    digest, _, mark = str(cookie).partition(":")
    return mark if digest == _digest(username) else ""


def _digest(username: str) -> str:
    name = throttle.plain_name(username).encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()
