"""A limit on wrong passwords, by user name and address together.

Together, so that a stranger who knows a name cannot lock its owner out from another machine. In
the database rather than a cache, so that it holds over several web processes and restarts.
"""

import hashlib
import unicodedata
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from django.utils import timezone

from fsbench_web.accounts.models import SignInAttempt

LIMIT = 10
WINDOW = timedelta(minutes=15)


# What one machine or household has of IPv6: it chooses among 2^64 addresses as it likes (RFC 6177).
_IPV6_PREFIX = 64


def _key(username: str, address: str) -> str:
    # As the form reads the name (UsernameField): with blanks around it, or in letters that NFKC
    # makes the same, it is the same account.
    name = unicodedata.normalize("NFKC", username.strip()).strip().casefold()
    text = f"{name}\n{network_of(address)}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def network_of(address: str) -> str:
    """What counts as one sender: an IPv4 address; of IPv6 the network that one host has."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ip_network((found, _IPV6_PREFIX), strict=False).network_address)
    return str(found)


def admit(username: str, address: str, limit: int = LIMIT) -> bool:
    """Count an attempt before its password is checked. False: too many, do not check it.

    The attempt is written first and counted then, so that many at once cannot slip through; one
    that is refused is not kept, so that the wait ends ``WINDOW`` after the last real attempt.
    """
    now = timezone.now()
    SignInAttempt.objects.filter(at__lt=now - WINDOW).delete()
    attempt = SignInAttempt.objects.create(key=_key(username, address), at=now)
    if SignInAttempt.objects.filter(key=attempt.key).count() > limit:
        attempt.delete()
        return False
    return True


def forget(username: str, address: str) -> None:
    """Forget the failures after a successful sign-in."""
    SignInAttempt.objects.filter(key=_key(username, address)).delete()
