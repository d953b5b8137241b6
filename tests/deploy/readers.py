"""Visitors who ask all the time: who restarts a web must not let one of them down."""

import http.client
import json
import threading

# Some forty requests a second, one or two of them under way at any time. Without a pause they would
# take both processors from the processes that are started meanwhile.
PAUSE_S = 0.05


class Readers:
    """Visitors who ask all the time, each time on a connection of its own."""

    def __init__(self, port: int, count: int = 4, limit_s: float = 60) -> None:
        self.port, self.limit_s = port, limit_s
        self.answers = 0
        self.failures: list[str] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._read) for _ in range(count)]

    def _read(self) -> None:
        while not self._stop.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.limit_s)
            try:
                connection.request("GET", "/api/v1/studies", headers={"Connection": "close"})
                answer = connection.getresponse()
                json.loads(answer.read())
                assert answer.status == 200
                self.answers += 1
            except (OSError, ValueError, AssertionError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
            finally:
                connection.close()
            self._stop.wait(PAUSE_S)

    def __enter__(self) -> "Readers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
