"""A limit on wrong passwords: of one name from one address, and of one address with any names.

Name and address together, so that a stranger who knows a name cannot lock its owner out from
another machine. Addresses by themselves, because one password tried with many names (spraying)
fails once with each. Where the failures of all addresses are those of an attack, each address has
fewer, and none has none: nobody who comes from another address is locked out by it. Browsers that
have signed in before are counted apart (accounts.sign_in.known_browsers).

In the database rather than a cache, so that it holds over several web processes and restarts.
"""

import hashlib
import logging
import unicodedata
from datetime import timedelta
from enum import Enum

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

# What one customer may have of IPv6 at most (RFC 6177).
_IPV6_SITE_PREFIX = 48


class ThrottleDecision(Enum):
    """Whether the password of an attempt may be checked, and else what there was too much of."""

    ADMITTED = "admitted"
    NAME = "name"
    ADDRESS = "address"


def plain_name(username: str) -> str:
    """The name as the form reads it (UsernameField), without its capitals: one account, one name.

    With blanks around it, or in letters that NFKC makes the same, it is the same account.
    """
    return unicodedata.normalize("NFKC", username.strip()).strip().casefold()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _key(username: str, address: str, browser: str = "") -> str:
    # A mark is none of the forms that an address has.
    origin = f"browser {browser}" if browser else network_of(address)
    return _digest(plain_name(username), origin)


def admit(username: str, address: str, limit: int = LIMIT) -> bool:
    """Count an attempt before its password is checked. False: too many, do not check it.

    The attempt is written first and counted then, so that many at once cannot slip through; one
    that is refused is not kept, so that the wait ends ``WINDOW`` after the last real attempt.
    """
    return _count(_key(username, address), "", limit) is ThrottleDecision.ADMITTED


def admit_sign_in(username: str, address: str, browser: str = "") -> ThrottleDecision:
    """As ``admit``, where the caller is nobody yet and may go through many names.

    ``browser`` is the mark of one that has opened this account before.
    """
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
