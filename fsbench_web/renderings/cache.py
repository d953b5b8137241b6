"""Finished files, kept while there is room, and made once for many readers.

The key is a digest of the content: changed data or rights lead to another key.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

MOST_BYTES = 64 * 1024 * 1024
MOST_BYTES_OF_ONE = 16 * 1024 * 1024
"""A larger answer is given and not kept: it would put out all the others."""


class RenderingCache:
    """Bytes by their key, the latest used ones, of one process."""

    def __init__(
        self, most_bytes: int = MOST_BYTES, most_bytes_of_one: int = MOST_BYTES_OF_ONE
    ) -> None:
        self._most_bytes, self._most_bytes_of_one = most_bytes, most_bytes_of_one
        self._bytes: OrderedDict[str, bytes] = OrderedDict()
        self._size_bytes = 0
        self._under_way: dict[str, Future[bytes]] = {}
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """Of all that is kept."""
        return self._size_bytes

    def once(self, key: str, make: Callable[[], bytes]) -> bytes:
        """What is kept under the key, else what ``make`` gives, called once at a time."""
        with self._lock:
            if key in self._bytes:
                self._bytes.move_to_end(key)
                return self._bytes[key]
            waited_for = self._under_way.get(key)
            if waited_for is None:
                self._under_way[key] = Future()
        if waited_for is not None:
            return waited_for.result()
        try:
            content = make()
        except BaseException as error:
            self._under_way_no_more(key).set_exception(error)
            raise
        with self._lock:
            self._keep(key, content)
        self._under_way_no_more(key).set_result(content)
        return content

    def _under_way_no_more(self, key: str) -> Future[bytes]:
        with self._lock:
            return self._under_way.pop(key)

    def _keep(self, key: str, content: bytes) -> None:
        if len(content) > min(self._most_bytes_of_one, self._most_bytes):
            return
        self._bytes[key] = content
        self._size_bytes += len(content)
        while self._size_bytes > self._most_bytes:
            _, oldest = self._bytes.popitem(last=False)
            self._size_bytes -= len(oldest)

    def clear(self) -> None:
        """Forget all of it."""
        with self._lock:
            self._bytes.clear()
            self._size_bytes = 0
