"""A throwaway Redis on a free port of the loopback interface."""

import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.services.process import Service, ServiceFailed, program

# Below the ports that the kernel gives to connections and to whoever asks for any (32768 and more):
# between being found and being used, a port is taken by nobody by accident. What runs beside this
# process on the machine looks in an order of its own, and its other processes elsewhere.
_PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = range(20_000 + _PROCESS % 8, 32_000, 8)
_looked_at = iter(random.sample(_PORTS, len(_PORTS)))


def free_port() -> int:
    """A port of the loopback interface that nobody uses at this moment, each time another."""
    for port in _looked_at:
        with socket.socket() as probe:
            # As servers do: a port whose connections of before are still being closed is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServiceFailed(f"no port of {_PORTS} is free")


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
