"""The process that makes files: ``python -m fsbench_web.renderings.worker``.

It reads a pickle of (function, arguments), calls it, and writes the bytes. It uses no database. The
length of each message stands before it, in 8 bytes.
"""

import os
import pickle
import resource
import select
import struct
import traceback
from typing import BinaryIO

LENGTH = struct.Struct(">Q")
MADE, TOO_LARGE, FAILED = b"M", b"L", b"F"
# Pages go first where there are fewer processors than work.
NICE = 10
MOST_MEMORY_BYTES = 1024**3
MOST_ANSWER_BYTES = 64 * 1024 * 1024
IDLE_S = 600.0


def main() -> None:
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import django

    django.setup(set_prefix=False)
    requests = os.fdopen(0, "rb", buffering=0)
    while select.select([requests], [], [], IDLE_S)[0]:
        head = _read(requests, LENGTH.size)
        if head is None:
            return  # the web process has ended
        message = _read(requests, LENGTH.unpack(head)[0])
        if message is None:
            return
        kind, body = render(message)
        answers.write(LENGTH.pack(len(body) + 1) + kind)
        answers.write(body)
        answers.flush()


def render(message: bytes) -> tuple[bytes, bytes]:
    """(``MADE``, the bytes), or what stands against it and why."""
    try:
        function, arguments = pickle.loads(message)  # noqa: S301 - of the process that started us
        body: bytes = function(*arguments)
    except MemoryError:
        return TOO_LARGE, b""
    except Exception:
        return FAILED, traceback.format_exc().encode()
    return (TOO_LARGE, b"") if len(body) > MOST_ANSWER_BYTES else (MADE, body)


def _read(stream: BinaryIO, count: int) -> bytes | None:
    """As many bytes; None where the stream ends before."""
    parts = []
    while count:
        part = stream.read(count)
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    main()
