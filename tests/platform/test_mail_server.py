"""Letters and the mail servers that take them, or do not: real sockets."""

import socketserver
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest
from django.core import mail

from fsbench_web.platform import mail_server

MINUTE_S = 60
Speaks = Callable[[socketserver.StreamRequestHandler], None]


@contextmanager
def server(speaks: Speaks, settings: object) -> Iterator[None]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                speaks(self)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, block_on_close = True, False

    with Server(("127.0.0.1", 0), Handler) as listener:
        thread = Thread(target=listener.serve_forever, args=(0.05,))
        thread.start()
        settings.EMAIL_BACKEND = "fsbench_web.platform.mail_server.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = listener.server_address
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_TIMEOUT = MINUTE_S
        try:
            yield
        finally:
            listener.shutdown()
            thread.join()


def letter() -> mail.EmailMessage:
    return mail.EmailMessage("subject", "body\n", to=["ada@example.org"])


def talk(handler: socketserver.StreamRequestHandler) -> None:
    """Take one letter, up to the point where it is accepted."""
    say = handler.wfile.write
    say(b"220 mail.example\r\n")
    for answer in (b"250 mail.example", b"250 ok", b"250 ok", b"354 go on"):
        handler.rfile.readline()
        say(answer + b"\r\n")
    while handler.rfile.readline() != b".\r\n":
        pass
    say(b"250 taken\r\n")


def test_a_letter_is_taken(settings):
    with server(talk, settings):
        assert letter().send() == 1


@pytest.mark.parametrize("answers", [b"2", b"220-mail.example\r\n"])
def test_a_server_that_drips_is_left(settings, monkeypatch, answers):
    """Byte by byte, or line by line and never the last."""
    monkeypatch.setattr(mail_server, "LIMIT_S", 0.5)
    is_leftover = Event()

    def drip(handler: socketserver.StreamRequestHandler) -> None:
        end = time.monotonic() + MINUTE_S
        while not is_leftover.wait(0.05) and time.monotonic() < end:
            handler.wfile.write(answers)

    with server(drip, settings):
        begin = time.monotonic()
        with pytest.raises(OSError, match=r"no answer within 0\.5 s"):
            letter().send()
        assert time.monotonic() - begin < MINUTE_S / 2
        is_leftover.set()


def test_a_letter_that_was_taken_is_sent_though_nobody_says_goodbye(settings, monkeypatch):
    """Else it would be sent again."""
    is_leftover = Event()

    def keep(handler: socketserver.StreamRequestHandler) -> None:
        talk(handler)
        handler.rfile.readline()
        is_leftover.wait(MINUTE_S)

    with server(keep, settings):
        connection = mail.get_connection()
        connection.open()
        assert connection.send_messages([letter()]) == 1
        monkeypatch.setattr(mail_server, "LIMIT_S", 0)
        connection.close()
        is_leftover.set()
