"""Limits wrong passwords: by name and address, and by address with any names.

A limit by name alone would let strangers lock its owner out. A limit by name and address alone
would let one address try one password with many names (spraying). During an attack from many
addresses, each address has a lower limit. A browser that signed in before has a signed mark and is
counted by that alone (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). The counts
are in the database, so they hold over several web processes and restarts.
"""

import hashlib
import logging
import secrets
import unicodedata
from datetime import timedelta
from enum import Enum

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from fsbench_web.accounts.models import SignInAttempt
from fsbench_web.accounts.networks import network_of
from fsbench_web.platform import clock

logger = logging.getLogger("fsbench.accounts")

LIMIT = 10
"""Failures of one name from one address, or in one known browser, in a window."""
ADDRESS_LIMIT = 50
"""Failures of one address, whatever the names: an office behind one address has some, too."""
SITE_LIMIT = 200
"""Failures of all addresses together from which on each has ``BRAKED_LIMIT``."""
BRAKED_LIMIT = 3
WINDOW = timedelta(minutes=15)
# What the clocks of two web processes may differ by (platform.clock asks once a minute).
_AHEAD = timedelta(minutes=1)
_BROWSER_AGE_S = 180 * 24 * 3600
_BROWSER_SALT = "fsbench_web.accounts.sign_in.known_browsers"
# What one customer may have of IPv6 at most (RFC 6177).
_IPV6_SITE_PREFIX = 48


class ThrottleDecision(Enum):
    """Whether the password of an attempt may be checked, and else what there was too much of."""

    ADMITTED = "admitted"
    NAME = "name"
    ADDRESS = "address"


def plain_name(username: str) -> str:
    """The name as the form reads it (UsernameField), without capitals: one account, one name."""
    return unicodedata.normalize("NFKC", username.strip()).strip().casefold()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _key(username: str, address: str, browser: str = "") -> str:
    # A mark is none of the forms that an address has.
    origin = f"browser {browser}" if browser else network_of(address)
    return _digest(plain_name(username), origin)


def admit(username: str, address: str, limit: int = LIMIT) -> bool:
    """Count an attempt before its password is checked. False: too many, do not check it.

    It is written first and counted then, so that many at once cannot slip through.
    """
    return _count(_key(username, address), "", limit) is ThrottleDecision.ADMITTED


def admit_sign_in(username: str, address: str, browser: str = "") -> ThrottleDecision:
    """As ``admit``, for a stranger who may try many names, or a browser with a mark."""
    source = "" if browser else _digest(network_of(address, _IPV6_SITE_PREFIX))
    return _count(_key(username, address, browser), source, LIMIT)


def _count(key: str, source: str, limit: int) -> ThrottleDecision:
    now = clock.now()
    # One that is still to come was written before the clock was set back.
    SignInAttempt.objects.exclude(at__range=(now - WINDOW, now + _AHEAD)).delete()
    attempt = SignInAttempt.objects.create(key=key, source=source, at=now)
    # No further than needed: an attack may have left many.
    failures = SignInAttempt.objects.exclude(source="")[: SITE_LIMIT + 2].count() if source else 0
    source_limit = BRAKED_LIMIT if failures > SITE_LIMIT else ADDRESS_LIMIT
    decision = ThrottleDecision.ADMITTED
    if SignInAttempt.objects.filter(key=key).count() > limit:
        decision = ThrottleDecision.NAME
    elif source and SignInAttempt.objects.filter(source=source).count() > source_limit:
        decision = ThrottleDecision.ADDRESS
    if decision is not ThrottleDecision.ADMITTED:
        attempt.delete()
    elif failures == SITE_LIMIT + 1:
        # Not at every refusal: whoever goes on must not fill the log.
        logger.warning(
            "%s sign-ins with a password failed within %s minutes, from many addresses: each has "
            "%s now; browsers that signed in before are not held up",
            SITE_LIMIT,
            int(WINDOW.total_seconds() // 60),
            BRAKED_LIMIT,
        )
    return decision


def forget(username: str, address: str, browser: str = "") -> None:
    """Forget the failures of this name after a successful sign-in, and nobody else's."""
    SignInAttempt.objects.filter(key=_key(username, address, browser)).delete()


def browser_cookie() -> str:
    """Browsers take ``__Host-`` from this host alone, with Secure and for all paths."""
    return "__Host-fsbench-known" if settings.HTTPS else "fsbench-known"


def remember_browser(response: HttpResponse, username: str) -> None:
    """The browser that gets this answer has just opened the account."""
    response.set_signed_cookie(
        browser_cookie(),
        f"{_digest(plain_name(username))}:{secrets.token_urlsafe(12)}",
        salt=_BROWSER_SALT,
        max_age=_BROWSER_AGE_S,
        httponly=True,
        samesite="Lax",
        secure=settings.HTTPS,
    )


def browser_mark(request: HttpRequest, username: str) -> str:
    """The mark of a browser that opened this account before; empty for every other."""
    cookie = request.get_signed_cookie(
        browser_cookie(), default="", salt=_BROWSER_SALT, max_age=_BROWSER_AGE_S
    )
    digest, _, mark = str(cookie).partition(":")
    return mark if digest == _digest(plain_name(username)) else ""
