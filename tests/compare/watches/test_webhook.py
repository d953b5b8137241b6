"""Signed messages to addresses that users choose: real servers, real sockets."""

import hashlib
import hmac
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from threading import Event, Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fsbench_web.compare.watches import webhook
from fsbench_web.compare.watches.webhook import WebhookProblem, checked_address, is_public, post

# So long the receivers of these tests would keep whoever has no limit of its own.
MINUTE_S = 60
Received = list[tuple[str, dict[str, str], bytes]]


@contextmanager
def receiver(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, Received]]:
    """A server on this machine: its address, and what it received."""
    received: Received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, dict(self.headers), body))
            answer(self)

        do_GET = do_POST

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer_with(status: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


@pytest.fixture
def here(settings):
    """Addresses of this machine are allowed."""
    settings.WEBHOOK_PRIVATE = True


def test_the_receiver_can_check_the_signature(here):
    body = '{"sentence": "−20%"}'.encode()
    with receiver(answer_with(204)) as (address, received):
        post(f"{address}/hook?a=b", body, "secret", "7")
    ((path, headers, received_body),) = received
    assert (path, received_body) == ("/hook?a=b", body)
    expected = hmac.new(b"secret", received_body, hashlib.sha256).hexdigest()
    assert headers["X-Fsbench-Signature"] == f"sha256={expected}"
    assert headers["X-Fsbench-Delivery"] == "7"
    assert headers["Content-Type"] == "application/json"
    assert headers["Host"] == address.removeprefix("http://")


def test_a_redirect_is_not_followed(here):
    with (
        receiver(answer_with(200)) as (elsewhere, redirected),
        receiver(answer_with(307, Location=f"{elsewhere}/")) as (address, received),
        pytest.raises(WebhookProblem, match="answered 307: redirects are not followed"),
    ):
        post(address, b"{}", "secret", "1")
    assert len(received) == 1
    assert redirected == []


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_an_error_is_a_problem_and_its_page_is_not_repeated(here, status):
    def answer(handler: BaseHTTPRequestHandler) -> None:
        answer_with(status)(handler)
        handler.wfile.write(b"internal words")

    with receiver(answer) as (address, _), pytest.raises(WebhookProblem) as problem:
        post(address, b"{}", "secret", "1")
    assert str(problem.value) == f"It answered {status}."


def test_a_slow_server_is_left(here, monkeypatch):
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.5)
    is_leftover = Event()
    with receiver(lambda handler: is_leftover.wait(MINUTE_S) and None) as (address, _):
        begin = time.monotonic()
        with pytest.raises(WebhookProblem, match="No answer within"):
            post(address, b"{}", "secret", "1")
        assert time.monotonic() - begin < MINUTE_S / 2
        is_leftover.set()


def test_a_dripping_answer_does_not_last_longer_than_the_limit(here, monkeypatch):
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.5)
    is_leftover = Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        end = time.monotonic() + MINUTE_S
        while not is_leftover.wait(0.1) and time.monotonic() < end:
            handler.wfile.write(b"x")

    with receiver(drip) as (address, _):
        begin = time.monotonic()
        with pytest.raises(WebhookProblem, match="No answer within"):
            post(address, b"{}", "secret", "1")
        assert time.monotonic() - begin < MINUTE_S / 2
        is_leftover.set()


def test_of_a_flood_no_more_than_a_line_is_read(here):
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"x" * 100_000)

    with (
        receiver(flood) as (address, _),
        pytest.raises(WebhookProblem, match="not in HTTP"),
    ):
        post(address, b"{}", "secret", "1")


def test_nobody_listens(here):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(WebhookProblem, match="Connection refused"):
        post(f"http://127.0.0.1:{port}/", b"{}", "secret", "1")


def test_what_speaks_no_tls_is_a_problem(here):
    with receiver(answer_with(200)) as (address, received), pytest.raises(WebhookProblem):
        post(address.replace("http:", "https:"), b"{}", "secret", "1")
    assert received == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0.0.0.0"])
def test_this_machine_is_refused_and_not_even_asked(settings, host):
    settings.WEBHOOK_PRIVATE = False
    with receiver(answer_with(200)) as (address, received):
        port = address.rpartition(":")[2]
        with pytest.raises(WebhookProblem, match="private network"):
            post(f"http://{host}:{port}/", b"{}", "secret", "1")
    assert received == []


def test_a_name_with_one_private_address_is_refused(settings, monkeypatch):
    settings.WEBHOOK_PRIVATE = False
    both = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 80)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: both)
    with pytest.raises(WebhookProblem, match="private network"):
        post("http://both.example/", b"{}", "secret", "1")


def test_absent_and_private_names_are_told_in_one_sentence(settings, monkeypatch):
    """Else anybody who may name an address could ask which names the own network has."""
    settings.WEBHOOK_PRIVATE = False

    def resolve(host: str, *args: object, **kwargs: object) -> list[object]:
        if host == "absent.corp.example":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    messages = []
    for name in ("absent", "wiki"):
        with pytest.raises(WebhookProblem) as problem:
            post(f"http://{name}.corp.example/", b"{}", "secret", "1")
        messages.append(str(problem.value).replace(name, "NAME"))
    assert messages[0] == messages[1]


def play_name_server(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """A name server that says one address after the other; gives what it is asked for."""
    hosts: list[str] = []

    def resolve(host: str, port: int, *args: object, **kwargs: object) -> list[object]:
        address = host
        if not host.replace(".", "").isdigit():  # an address is its own, and asks no name server
            hosts.append(host)
            address = answers[min(len(hosts), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return hosts


def test_the_name_is_resolved_once_and_the_checked_address_connected_to(settings, monkeypatch):
    """A name server that answers differently the second time gets nothing (DNS rebinding)."""
    settings.WEBHOOK_PRIVATE = False
    connected: list[object] = []

    def connect(self: socket.socket, address: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    hosts = play_name_server(monkeypatch, "93.184.215.14", "127.0.0.1")
    with receiver(answer_with(200)) as (address, received):
        port = int(address.rpartition(":")[2])
        monkeypatch.setattr(socket.socket, "connect", connect)
        with pytest.raises(WebhookProblem, match="Connection refused"):
            post(f"http://rebound.example:{port}/", b"{}", "secret", "1")
        monkeypatch.undo()
    assert hosts == ["rebound.example"]
    assert connected == [("93.184.215.14", port)]
    assert received == []


def test_the_next_address_is_tried_where_nobody_listens(here, monkeypatch):
    with receiver(answer_with(200)) as (address, received):
        port = int(address.rpartition(":")[2])
        both = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port))
            for ip in ("127.0.0.2", "127.0.0.1")
        ]
        resolve = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, *args, **kwargs: (
                both if host == "two.example" else resolve(host, *args, **kwargs)
            ),
        )
        post(f"http://two.example:{port}/", b"{}", "secret", "1")
    assert [headers["Host"] for _, headers, _ in received] == [f"two.example:{port}"]


def test_no_proxy_of_the_environment_is_asked(here, monkeypatch):
    with (
        receiver(answer_with(200)) as (proxy, proxied),
        receiver(answer_with(200)) as (address, received),
    ):
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        post(address, b"{}", "secret", "1")
    assert (len(received), proxied) == (1, [])


@contextmanager
def over_tls(folder: Path, name: str) -> Iterator[tuple[int, list[str | None]]]:
    """A receiver with a certificate of this name; gives its port and the names it is called by."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    called: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    context.sni_callback = lambda connection, name, context: called.append(name)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
                head = b""
                while not head.endswith(b"\r\n\r\n{}"):
                    head += secured.recv(65536)
                secured.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        thread = Thread(target=answer)
        thread.start()
        try:
            yield listening.getsockname()[1], called
        finally:
            thread.join(MINUTE_S)


@pytest.mark.parametrize("certified", ["hook.example", "other.example"])
def test_the_certificate_is_of_the_name_and_not_of_the_address(
    here, monkeypatch, tmp_path, certified
):
    with over_tls(tmp_path, certified) as (port, called):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        play_name_server(monkeypatch, "127.0.0.1")
        url = f"https://hook.example:{port}/"
        if certified == "hook.example":
            post(url, b"{}", "secret", "1")
        else:
            with pytest.raises(WebhookProblem, match="cannot be secured: Hostname mismatch"):
                post(url, b"{}", "secret", "1")
    assert called == ["hook.example"]


def test_a_name_without_an_address(here):
    with pytest.raises(WebhookProblem, match="has no address"):
        post("http://nowhere.invalid/", b"{}", "secret", "1")


# IANA's registries of special-purpose addresses as they were in November 2026, whole, with the
# blocks that multicast and site-local addresses have elsewhere.
SPECIAL_IPV4 = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32"),
    *("192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24"),
    *("192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16"),
    *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4"),
    *("240.0.0.0/4", "255.255.255.255/32"),
)
SPECIAL_IPV6 = (
    *("::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23"),
    *("2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48"),
    *("2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28"),
    *("2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16"),
    *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
)


@pytest.mark.parametrize("block", [*SPECIAL_IPV4, *SPECIAL_IPV6])
def test_no_special_purpose_address_is_public(block):
    network = ip_network(block)
    middle = network[network.num_addresses // 2]
    assert not any(is_public(str(address)) for address in (network[0], middle, network[-1]))


@pytest.mark.parametrize("block", SPECIAL_IPV4)
@pytest.mark.parametrize("prefix", ["::ffff:0:0", "64:ff9b::"])
def test_none_is_public_inside_of_another_address(prefix, block):
    network = ip_network(block)
    outer = int(ip_address(prefix))
    for address in (network[0], network[-1]):
        assert not is_public(str(IPv6Address(outer + int(address))))


@pytest.mark.parametrize(
    "address",
    [
        # With 10.0.0.1, and with 8.8.8.8, in them: 6to4, Teredo's client, IPv4-compatible.
        *("2002:a00:1::", "2002:808:808::", "2001:0:808:808::f5ff:fffe", "::10.0.0.1"),
        *("2001:0:808:808::f7f7:f7f7", "::8.8.8.8", "fe80::1%eth0", "4000::1", "1fff::1"),
    ],
)
def test_what_else_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("93.184.215.14", "8.8.8.8", "64:ff9b::808:808", "::ffff:8.8.8.8"),
        *("2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001::1", "2620:4f:8001::1"),
        # The neighbours of special blocks.
        *("9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255"),
        *("172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255"),
        *("192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"),
        *("223.255.255.255", "2001:200::", "2001:db7:ffff::", "2001:db9::", "2003::"),
        *("3ffe:ffff::", "3fff:1000::"),
    ],
)
def test_what_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org", "ftp://example.org/", "file:///etc/passwd", "http://", "http:///x"),
        *("http://a b/", "http://example.org/\r\nX: y", "http://user:pass@example.org/"),
        *("http://user@example.org/", "http://example.org:99999/", "http://example.org:x/"),
        *(
            "http://example.org/#part",
            "http://m\u00fcnchen.example/",
            "http://[::1/",
            "http://x:0/",
        ),
        "http://example.org/" + "a" * 500,
        'http://example.org/"><script>',
    ],
)
def test_addresses_that_are_none_are_refused(url):
    with pytest.raises(WebhookProblem):
        checked_address(url)


def test_an_ipv6_address_is_an_address():
    assert checked_address("https://[2606:4700::1]:8443/x?y=z").port == 8443
