"""Who sent a request, as proxies tell it: believed from those that are trusted alone."""

import asyncio
import os
import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from fsbench_web.platform import env

TRUSTED = ["127.0.0.1/32", "10.0.0.0/24", "::1/128"]


def through(peer: str | None, *headers: tuple[str, str]) -> dict[str, Any]:
    """What the application is given of a request, as fsbench_web.serving.asgi wraps it."""
    seen: dict[str, Any] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)

    scope = {
        "type": "http",
        "scheme": "http",
        "client": (peer, 4711) if peer else None,
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(ProxyHeadersMiddleware(application, TRUSTED)(scope, None, None))  # type: ignore[arg-type]
    return seen


FOR, PROTO = "X-Forwarded-For", "X-Forwarded-Proto"


def test_a_trusted_proxy_tells_client_and_scheme() -> None:
    scope = through("127.0.0.1", (FOR, "192.0.2.7"), (PROTO, "https"))
    assert scope["client"] == ("192.0.2.7", 0)
    assert scope["scheme"] == "https"


def test_nobody_else_does() -> None:
    scope = through("192.0.2.66", (FOR, "127.0.0.1"), (PROTO, "https"))
    assert scope["client"] == ("192.0.2.66", 4711)
    assert scope["scheme"] == "http"


def test_what_the_client_wrote_before_is_not_believed() -> None:
    """The proxy appends the address it saw; what stands left of it came from that address."""
    scope = through("127.0.0.1", (FOR, "198.51.100.1, 192.0.2.7"))
    assert scope["client"][0] == "192.0.2.7"


def test_ipv6_proxies_are_trusted_too() -> None:
    assert through("::1", (FOR, "2001:db8::7"))["client"][0] == "2001:db8::7"


def test_a_chain_of_trusted_proxies_is_followed() -> None:
    scope = through("127.0.0.1", (FOR, "198.51.100.1, 192.0.2.7"), (FOR, "10.0.0.5"))
    assert scope["client"][0] == "192.0.2.7"


@given(peer=st.ip_addresses(v=4), value=st.text(st.characters(codec="ascii"), max_size=40))
def test_no_stranger_is_ever_somebody_else(peer: object, value: str) -> None:
    if any(peer in ip_network(network) for network in TRUSTED):
        return
    scope = through(str(peer), (FOR, value), (PROTO, value))
    assert scope["client"] == (str(peer), 4711)
    assert scope["scheme"] == "http"


@pytest.mark.parametrize("value", ["*", "0.0.0.0/0", "::/0", "proxy.example", "10.0.0.1/24"])
def test_everybody_is_no_proxy(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FSBENCH_TRUSTED_PROXIES", value)
    with pytest.raises(ImproperlyConfigured, match="FSBENCH_TRUSTED_PROXIES"):
        env.networks("FSBENCH_TRUSTED_PROXIES", [])


def test_plain_http_is_sent_to_https_whatever_a_stranger_says(tmp_path: Path) -> None:
    """The whole application, asked by a trusted proxy and by somebody else."""
    script = """
import asyncio
from fsbench_web.serving.asgi import application
async def ask(peer):
    sent = []
    messages = [{"type": "http.request", "body": b"", "more_body": False}]
    async def receive(): return messages.pop() if messages else await asyncio.Future()
    async def send(message): sent.append(message)
    await application({"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1",
        "method": "GET", "scheme": "http", "path": "/api/v1/filesystems", "raw_path": b"",
        "query_string": b"", "root_path": "", "server": ("127.0.0.1", 8000), "client": (peer, 1),
        "headers": [(b"host", b"fsbench.example"), (b"x-forwarded-proto", b"https")]},
        receive, send)
    return sent[0]["status"]
print(asyncio.run(ask("192.0.2.66")), asyncio.run(ask("127.0.0.1")))
"""
    environment = {
        "PATH": os.environ["PATH"],
        "FSBENCH_DATA": str(tmp_path),
        "FSBENCH_HTTPS": "True",
        "FSBENCH_ALLOWED_HOSTS": "fsbench.example",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["301", "200"]
