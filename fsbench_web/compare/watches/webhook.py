"""A signed JSON message to an address that a user chose, never into our own network.

The name is resolved once, every address must be public, and urllib3 connects to one of these. No
redirects, no proxy; only status and headers are read (http.client's limits).
"""

import hashlib
import hmac
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPException
from threading import Timer
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

TIMEOUT_S = 5.0
"""For everything together: name, connection, sending, the first line of the answer."""
MOST_URL = 500
SIGNATURE_HEADER = "X-Fsbench-Signature"
DELIVERY_HEADER = "X-Fsbench-Delivery"
_PORTS = {"http": 80, "https": 443}
# All blocks of IANA's special-purpose registries for IPv4 and IPv6, and multicast. The list is our
# own: what ``ipaddress.is_global`` says differs between versions of Python. Blocks that a registry
# calls reachable are refused, too: anycast leads to the nearest machine, which may be our own.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24"),
            *("192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            # Teredo, ORCHID, AMT, benchmarking and more; then documentation, 6to4, AS112.
            *("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
        ),
    )
)
# No IPv6 address beyond it is of the public internet (RFC 4291): the registry's other blocks are
# special, and the rest is given to nobody.
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
# Addresses that lead to the IPv4 address in their last 32 bits: mapped ones, and NAT64 (RFC 6052).
_TRANSLATED = tuple(map(ipaddress.ip_network, ("::ffff:0:0/96", "64:ff9b::/96")))
# One sentence for names that are not there and for those of our own network: who may name an
# address must not learn which names our name server knows.
_NOT_PUBLIC = (
    "{} has no address, or one of a private network, to which this site sends nothing "
    "(FSBENCH_WEBHOOK_PRIVATE)."
)


class WebhookProblem(Exception):
    """It was not delivered; the text says why, and never what the other side wrote."""


def checked_address(url: str) -> SplitResult:
    """The parts of an address that messages can be sent to. Raises WebhookProblem."""
    if len(url) > MOST_URL:
        raise WebhookProblem(f"An address has at most {MOST_URL} characters.")
    if not re.fullmatch(r"[!-~]+", url) or set(url) & set('<>"\\^`{|}'):
        raise WebhookProblem(
            "The address has blanks or letters beyond ASCII: write them percent-encoded, "
            "a name with umlauts as xn--..."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WebhookProblem("The address cannot be read.") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise WebhookProblem("The address must be like https://chat.example/hooks/fsbench.")
    if parts.username is not None or parts.password is not None:
        raise WebhookProblem(
            "The address has a user name in it. Receivers check the signature instead."
        )
    if parts.fragment:
        raise WebhookProblem("The address has a #fragment, which is never sent.")
    return parts


def refuse_plainly_private(url: str) -> None:
    """For forms: refuse at once what needs no name server to be known. Raises WebhookProblem."""
    host = str(checked_address(url).hostname)
    try:
        is_private = not is_public(host)
    except ValueError:
        is_private = host == "localhost" or host.endswith(".localhost")
    if is_private and not settings.WEBHOOK_PRIVATE:
        raise WebhookProblem(_NOT_PUBLIC.format(host))


def is_public(address: str) -> bool:
    """Whether an IP address, as getaddrinfo writes it, is one of the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if any(ip in network for network in _TRANSLATED):
        ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip.version == 6 and ip not in _GLOBAL_UNICAST:
        return False
    return not any(ip in network for network in _SPECIAL)


def signature(secret: str, body: bytes) -> str:
    """What the header says: HMAC-SHA256 of the body, under the secret of the watch."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def post(url: str, body: bytes, secret: str, delivery: str) -> None:
    """Send, and return when the other side answered 2xx. Raises WebhookProblem."""
    parts = checked_address(url)
    deadline = time.monotonic() + TIMEOUT_S
    headers = {
        "Host": parts.netloc,
        "User-Agent": "fsbench",
        "Content-Type": "application/json",
        SIGNATURE_HEADER: signature(secret, body),
        DELIVERY_HEADER: delivery,
        "Connection": "close",
    }
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with _connection(parts, deadline) as connection:
            connection.request("POST", target, body, headers, preload_content=False)
            status = connection.getresponse().status
    except (OSError, HTTPException, HTTPError) as error:
        raise WebhookProblem(_error_words(error, time.monotonic() >= deadline)) from None
    if 300 <= status < 400:
        raise WebhookProblem(f"It answered {status}: redirects are not followed.")
    if not 200 <= status < 300:
        raise WebhookProblem(f"It answered {status}.")


def _error_words(error: Exception, is_late: bool) -> str:
    if isinstance(error, NewConnectionError) and isinstance(error.__cause__, OSError):
        error = error.__cause__
    # Whoever is cut off because time is over says many things.
    if is_late or isinstance(error, TimeoutError | ConnectTimeoutError):
        return f"No answer within {TIMEOUT_S:.0f} s."
    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        return f"The connection cannot be secured: {reason}."
    if isinstance(error, OSError):
        return f"The connection failed: {error.strerror or error}."
    return "It answered, but not in HTTP."


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _addresses(host: str, port: int, deadline: float) -> list[str]:
    """All addresses of the name, each checked: one private one is enough to refuse it."""
    # The system's resolver has no limit of time; it is left behind where it takes too long.
    resolver = ThreadPoolExecutor(1, thread_name_prefix="webhook-name")
    try:
        entries = resolver.submit(
            socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        ).result(timeout=_seconds_left(deadline))
    except (socket.gaierror, UnicodeError):
        if not settings.WEBHOOK_PRIVATE:
            raise WebhookProblem(_NOT_PUBLIC.format(host)) from None
        raise WebhookProblem(f"The name {host} has no address.") from None
    finally:
        resolver.shutdown(wait=False)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    if not settings.WEBHOOK_PRIVATE and not all(map(is_public, addresses)):
        raise WebhookProblem(_NOT_PUBLIC.format(host))
    return addresses


@contextmanager
def _connection(parts: SplitResult, deadline: float) -> Iterator[HTTPConnection]:
    """A connection to the first checked address that takes one; cut off at the deadline."""
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    problem: Exception = TimeoutError()
    for address in _addresses(host, port, deadline):
        timeout = _seconds_left(deadline)
        if parts.scheme == "http":
            connection = HTTPConnection(address, port, timeout=timeout)
        else:
            context = ssl.create_default_context()
            connection = HTTPSConnection(
                address, port, timeout=timeout, server_hostname=host, ssl_context=context
            )
        timer = Timer(timeout, _shut_down, [connection])
        timer.daemon = True
        timer.start()
        try:
            try:
                connection.connect()
            except ConnectTimeoutError as error:  # and NewConnectionError
                problem = error
                continue
            yield connection
            return
        finally:
            timer.cancel()
            connection.close()
    raise problem


def _shut_down(connection: HTTPConnection) -> None:
    with suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
