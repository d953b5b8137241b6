"""The way to a mail server, which has so long for a whole letter and no longer.

Django's limit (``EMAIL_TIMEOUT``) is that of each wait of the socket. A server that says a byte
now and then, as tarpits do, would keep whoever sends for hours, and with it all other messages.
"""

import smtplib
import socket
import time
from contextlib import suppress
from threading import Timer
from typing import Any

from django.core.mail.backends import smtp

LIMIT_S = 60.0
"""From the connection to the last answer."""


class _InTime(smtplib.SMTP):
    """Cut off under whoever waits for an answer, once the time for all of them is over."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._began, self._is_cut = time.monotonic(), False
        super().__init__(*args, **kwargs)

    def getreply(self) -> tuple[int, bytes]:
        left = self._began + LIMIT_S - time.monotonic()
        timer = Timer(max(left, 0), self._cut)
        timer.daemon = True
        timer.start()
        try:
            answer = super().getreply()
        except OSError:
            if not self._is_cut:
                raise
        else:
            # What came of a line before it was cut off is no answer.
            if not self._is_cut:
                return answer
        finally:
            timer.cancel()
        raise smtplib.SMTPServerDisconnected(f"no answer within {LIMIT_S:g} s") from None

    def _cut(self) -> None:
        self._is_cut = True
        with suppress(OSError):
            if self.sock is not None:
                self.sock.shutdown(socket.SHUT_RDWR)


class _InTimeWithTls(_InTime, smtplib.SMTP_SSL):
    pass


class EmailBackend(smtp.EmailBackend):
    """Django's, with that limit."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _InTimeWithTls if self.use_ssl else _InTime
