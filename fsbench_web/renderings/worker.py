"""The process that makes files: ``python -m fsbench_web.renderings.worker SOCKET``.

It takes a pickle of (function, arguments), calls it, and sends the bytes. It uses no database.
"""

import os
import pickle
import resource
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection

MADE, TOO_LARGE, FAILED = b"M", b"L", b"F"
# Pages go first where there are fewer processors than work.
NICE = 10
MOST_MEMORY_BYTES = 1024**3
MOST_ANSWER_BYTES = 64 * 1024 * 1024
IDLE_S = 600.0


def main() -> None:
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    import django

    django.setup(set_prefix=False)
    channel = Connection(int(sys.argv[1]))
    with suppress(EOFError):  # the web process has ended
        while channel.poll(IDLE_S):
            for part in render(channel.recv_bytes()):
                channel.send_bytes(part)


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


if __name__ == "__main__":
    main()
