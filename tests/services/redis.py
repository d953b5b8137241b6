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


class Redis(Service):
    """``url`` is its CELERY_BROKER_URL. Nothing is kept: started again, it is empty."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        super().__init__(
            [
                *(program("redis-server", "redis-server"), "--dir", str(folder)),
                *("--save", "", "--appendonly", "no", *self._network()),
            ],
            log=folder / "log",
        )
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.wait_until_ready()

    def _network(self) -> list[str]:
        """Options that say where it listens."""
        return ["--bind", "127.0.0.1", "--port", str(self.port)]

    def wait_until_ready(self) -> None:
        self.wait_until(lambda: accepts(self.port))


@contextmanager
def redis_server() -> Iterator[Redis]:
    """Start Redis. Raises ServiceFailed."""
    with TemporaryDirectory(prefix="fsbench-redis-") as folder:
        service = Redis(Path(folder))
        try:
            yield service
        finally:
            service.stop()


@contextmanager
def redis() -> Iterator[str]:
    """Start Redis; gives its CELERY_BROKER_URL. Raises ServiceFailed."""
    with redis_server() as server:
        yield server.url
