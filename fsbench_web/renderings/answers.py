"""Answers that take long to make: cached by their content, made once, in another process.

``answer`` gets everything that goes into a file, read with the reader's rights for each request.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags

from fsbench_web.platform.http import error_pages
from fsbench_web.platform.version import VERSION
from fsbench_web.renderings.process import LONGEST_S, Renderer, RendererUnavailable, TooLarge

MOST_BYTES = 64 * 1024 * 1024
MOST_BYTES_OF_ONE = 16 * 1024 * 1024
"""A larger answer is given and not kept: it would put out all the others."""
TOO_LARGE = (
    "This is too large for one answer: choose fewer tests, categories or studies, or take the "
    "numbers as CSV.\n"
)
AWAY = (
    f"This could not be drawn up within {LONGEST_S:.0f} seconds: choose fewer tests, categories or "
    "studies, or try again in a minute.\n"
)
REVALIDATED = "private, no-cache"


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


cache = RenderingCache()
_renderer: Renderer | None = None


def start_renderer() -> Renderer:
    """Make files in another process from now on, as a web server does."""
    global _renderer
    _renderer = _renderer or Renderer()
    return _renderer


def end() -> None:
    """End the other process, if there is one."""
    if _renderer is not None:
        _renderer.end()


def answer(
    request: HttpRequest,
    write: Callable[..., bytes],
    *arguments: Any,
    cache_key: object = None,
    media_type: str,
    disposition: str = "",
    cache_control: str = REVALIDATED,
) -> HttpResponse:
    """``write(*arguments)`` as a file; 304 if the client has it.

    ``write`` is a function of a module, and its arguments can be pickled. ``cache_key`` (None: the
    arguments) says which answers are equal.
    """
    if cache_key is None:
        cache_key = arguments
    # A version of fsbench is no judge of what browsers kept of another one's.
    writer = f"{write.__module__}.{write.__qualname__}"
    key = _digest((VERSION, writer, media_type, cache_key))
    # Weak: made anew after a restart, it says when, and is else the same.
    tag = f'W/"{key[:32]}"'
    headers = {"ETag": tag, "Cache-Control": cache_control}
    known_tags = parse_etags(request.headers.get("If-None-Match", ""))
    if "*" in known_tags or tag in known_tags:
        response = HttpResponse(status=304, headers=headers)
        del response["Content-Type"]
        return _with_vary(response)
    try:
        content = cache.once(key, lambda: _write(write, arguments))
    except TooLarge:
        return error_pages.plain_text(422, TOO_LARGE)
    except RendererUnavailable:
        response = error_pages.plain_text(503, AWAY)
        response["Retry-After"] = "60"
        return response
    if disposition:
        headers["Content-Disposition"] = disposition
    return _with_vary(HttpResponse(content, content_type=media_type, headers=headers))


def _with_vary(response: HttpResponse) -> HttpResponse:
    if response["Cache-Control"].startswith("private"):
        patch_vary_headers(response, ["Authorization", "Cookie"])
    return response


def _write(write: Callable[..., bytes], arguments: tuple[Any, ...]) -> bytes:
    return write(*arguments) if _renderer is None else _renderer(write, *arguments)


def _digest(content: object) -> str:
    return hashlib.sha256(repr(_plain(content)).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(content: object) -> object:
    """The content as tuples that ``repr`` writes in full. Raises TypeError for unknown types."""
    if content is None or type(content) in _WRITTEN_OUT:
        return content
    if isinstance(content, bytes):  # a megabyte is four as text
        return ("bytes", hashlib.sha256(content).hexdigest())
    if isinstance(content, list | tuple):
        return (type(content).__name__, *map(_plain, content))
    if isinstance(content, Mapping):
        return ("{}", *((_plain(key), _plain(value)) for key, value in content.items()))
    if isinstance(content, set | frozenset):
        return ("set", *sorted(map(repr, map(_plain, content))))
    if is_dataclass(content):
        name, content_fields = type(content).__qualname__, fields(content)
        return (name, *(_plain(getattr(content, field.name)) for field in content_fields))
    if isinstance(content, str):  # safe text, members of enumerations
        return str(content)
    raise TypeError(f"{type(content)} cannot be told apart from others of its kind")


_WRITTEN_OUT = (str, bool, int, float, Decimal, date, datetime)
