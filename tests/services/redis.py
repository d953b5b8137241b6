"""A throwaway Redis on a free port of the loopback interface."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.services.process import Service, program


def free_port() -> int:
    """A port of the loopback interface that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    """Whether something on the loopback interface accepts connections on this port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def redis() -> Iterator[str]:
    """Start Redis; gives its CELERY_BROKER_URL. Raises ServiceFailed."""
    port = free_port()
    with TemporaryDirectory(prefix="fsbench-redis-") as folder:
        service = Service(
            [
                *(program("redis-server", "redis-server"), "--bind", "127.0.0.1"),
                *("--port", str(port), "--dir", folder, "--save", "", "--appendonly", "no"),
            ],
            log=Path(folder) / "log",
        )
        try:
            service.wait_until(lambda: accepts(port))
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            service.stop()
