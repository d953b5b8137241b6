"""Whom to believe about where a request came from.

``X-Forwarded-For`` and ``X-Forwarded-Proto`` are written by proxies, and by anybody else. They are
read where a proxy of FSBENCH_TRUSTED_PROXIES sent the request, and taken out of all requests before
any other code sees them: throttling, the audit log and redirects cannot be led astray by a header.
"""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
Scope = MutableMapping[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class TrustedProxies:
    """ASGI middleware: every request as ``forwarded_scope`` has it, through the proxies."""

    def __init__(self, application: Application, trusted: Sequence[Network]) -> None:
        self._application, self._trusted = application, trusted

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            scope = forwarded_scope(scope, self._trusted)
        await self._application(scope, receive, send)


def forwarded_scope(scope: Scope, trusted: Sequence[Network]) -> Scope:
    """The scope with the client and the scheme that trusted proxies tell, without their headers.

    The client is the last address of ``X-Forwarded-For`` that is no trusted proxy: what stands
    before it was written by that client. The name of the host is never taken from a proxy
    (``X-Forwarded-Host``); it must pass ``Host`` on.
    """
    headers: list[tuple[bytes, bytes]] = []
    forwarded: list[tuple[bytes, str]] = []
    for name, value in scope["headers"]:
        lower = name.lower()
        if lower in (b"forwarded", b"x-real-ip") or lower.startswith(b"x-forwarded-"):
            forwarded.append((lower, value.decode("latin-1")))
        else:
            headers.append((name, value))
    changed = dict(scope) | {"headers": headers}
    peer = _address(scope["client"][0]) if scope.get("client") else None
    if peer is None or not _is_trusted(peer, trusted):
        return changed
    client = _client(
        peer, [value for name, value in forwarded if name == b"x-forwarded-for"], trusted
    )
    if client != peer:
        changed["client"] = (str(client), 0)
    schemes = [value for name, value in forwarded if name == b"x-forwarded-proto"]
    scheme = ",".join(schemes).rpartition(",")[2].strip().lower()
    if scheme in ("http", "https"):
        secure = scheme == "https"
        changed["scheme"] = {True: "wss", False: "ws"}[secure] if _is_socket(scope) else scheme
    return changed


def _client(peer: Address, lines: Sequence[str], trusted: Sequence[Network]) -> Address:
    """From the right: each trusted address vouches for the one before it."""
    client = peer
    for text in reversed(",".join(lines).split(",")):
        if not _is_trusted(client, trusted):
            break
        before = _address(text.strip())
        if before is None:
            break
        client = before
    return client


def _is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def _is_socket(scope: Scope) -> bool:
    return bool(scope["type"] == "websocket")


def _address(text: str) -> Address | None:
    """None where it is none. IPv4 written as IPv6 (``::ffff:192.0.2.1``) is the IPv4 address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
