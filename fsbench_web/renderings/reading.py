"""Reads uploads in other processes, which can be ended.

A hostile text may take a reader very long, and a regular expression keeps the interpreter's
lock.
"""

import pickle
from collections.abc import Callable
from queue import LifoQueue
from typing import Any, TypeVar

from isal import isal_zlib

from fsbench_web.renderings.process import Renderer, RendererUnavailable, TooLarge
from fsbench_web.renderings.worker import MOST_MEMORY_BYTES

Result = TypeVar("Result")
LONGEST_S = 120.0
_PROCESSES = 2
"""One slow upload leaves another process for the others. Each starts when it is needed."""
_readers: list[Renderer] = []
# The last that was used comes first: it is there already.
_free: LifoQueue[Renderer] = LifoQueue()

TOOK_TOO_LONG = (
    f"Reading this took longer than {LONGEST_S:.0f} seconds and was stopped. Nothing was stored. "
    "Upload the files one by one, and split the one that takes so long."
)
TOOK_TOO_MUCH = (
    f"Reading this took more than {MOST_MEMORY_BYTES // 1024**2:,} MiB of memory and was stopped. "
    "Nothing was stored. Upload fewer files at once, or split the largest."
)


class ReadingStopped(Exception):
    """Reading took too long or too much; the text says what to do."""


def start() -> None:
    """From now on read in processes of their own, as web processes and the importer do."""
    for _ in range(_PROCESSES - len(_readers)):
        _readers.append(Renderer(LONGEST_S))
        _free.put(_readers[-1])


def end() -> None:
    """End the processes: this one ends, or reads here from now on."""
    while _readers:
        _readers.pop().end()
    while not _free.empty():
        _free.get()


def call(function: Callable[..., Result], *arguments: Any) -> Result:
    """What a function of a module gives, called in such a process; without one, here.

    Arguments and answer can be pickled. Raises ReadingStopped.
    """
    if not _readers:
        return function(*arguments)
    reader = _free.get()
    try:
        answer = reader(_packed, function, arguments)
    except TooLarge:
        raise ReadingStopped(TOOK_TOO_MUCH) from None
    except RendererUnavailable:
        raise ReadingStopped(TOOK_TOO_LONG) from None
    finally:
        _free.put(reader)
    result: Result = pickle.loads(isal_zlib.decompress(answer))  # noqa: S301 - of our own process
    return result


def _packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    answer = pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)
    packed: bytes = isal_zlib.compress(answer, 1)
    return packed
