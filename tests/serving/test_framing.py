"""Requests whose length two readers could take for another: refused, and nothing behind them."""

import socket

import pytest

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.same_on_any_database]
HIDDEN = b"GET /glossary/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def answer_to(site: str, request: bytes) -> bytes:
    """All that the server says until it closes the connection."""
    host, port = site.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (CHUNKED + b"Content-Length: 4\r\n", b"0\r\n\r\n"),
        (b"Content-Length: 4\r\n" + CHUNKED, b"0\r\n\r\n"),
        (b"content-length: 5\r\ntransfer-encoding: Chunked\r\n", b"0\r\n\r\n"),
        # By its length the second request is the body of the first one.
        (CHUNKED + b"Content-Length: %d\r\n" % (5 + len(HIDDEN)), b"0\r\n\r\n"),
        (CHUNKED + b"Content-Length: 3\r\nContent-Length: 4\r\n", b"0\r\n\r\n"),
        (CHUNKED + CHUNKED + b"Content-Length: 4\r\n", b"0\r\n\r\n"),
        (b"Transfer-Encoding: identity\r\nContent-Length: 4\r\n", b"abcd"),
        (b"Transfer-Encoding : chunked\r\nContent-Length: 4\r\n", b"0\r\n\r\n"),
        (b"Content-Length: +4\r\n", b"abcd"),
    ],
)
@pytest.mark.parametrize("path", [b"/account/sign-in/", b"/api/v1/runs"])
def test_a_request_with_two_lengths_is_refused_and_ends_the_connection(
    site: str, path: bytes, headers: bytes, body: bytes
) -> None:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n"
    answer = answer_to(site, head + headers + b"\r\n" + body + HIDDEN)
    assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1, "the hidden request was answered"
    assert b"\r\nconnection: close\r\n" in answer.lower()


def test_a_transfer_coding_ends_a_connection_of_http_1_0(site: str) -> None:
    """RFC 9112, 6.1: such a request may be processed, and nothing behind it."""
    head = b"POST /api/v1/runs HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n"
    answer = answer_to(site, head + CHUNKED + b"\r\n0\r\n\r\n" + HIDDEN)
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("headers", "body"), [(CHUNKED, b"0\r\n\r\n"), (b"Content-Length: 2\r\n", b"{}")]
)
def test_one_length_is_taken_and_the_next_request_answered(
    site: str, headers: bytes, body: bytes
) -> None:
    head = b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n"
    last = HIDDEN.replace(b"Host", b"Connection: close\r\nHost")
    answer = answer_to(site, head + headers + b"\r\n" + body + last)
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"401", b"200"]
