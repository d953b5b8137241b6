"""A worker that falls silent, or is gone, while its container measures."""

import os
import socket
import threading
from typing import Any

import pytest

from runner.executors import containers

SILENT_AFTER_S = 4.0


class Connection:
    """What a worker says to its container, until a test stops it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._is_silent = threading.Event()
        self._connections: list[Any] = []
        attach, write = containers.attach, containers.write

        def keep(*arguments: Any) -> Any:
            self._connections.append(attach(*arguments))
            return self._connections[-1]

        def write_unless_silent(connection: Any, data: bytes) -> None:
            if not self._is_silent.is_set():
                write(connection, data)

        monkeypatch.setattr(containers, "attach", keep)
        monkeypatch.setattr(containers, "write", write_unless_silent)

    def fall_silent(self) -> None:
        """As a process that was stopped: everything is open, and nothing comes."""
        self._is_silent.set()

    def close(self) -> None:
        """As the kernel does for a process that was killed."""
        [connection] = self._connections
        with socket.socket(fileno=os.dup(connection.fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)
