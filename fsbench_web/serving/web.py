"""One web process: uvicorn on a socket that the supervisor keeps, so no connection is refused."""

import resource
import socket
import sys
from types import FrameType
from typing import Any

import uvicorn

from fsbench_web.platform import shutdown

# Seconds that answers under way may delay the end. Event streams end within a second or two.
GRACE_S = 20


class Server(uvicorn.Server):
    """uvicorn's server, which tells event streams that the end has begun."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        shutdown.begin()
        super().handle_exit(sig, frame)


def config_for(application: Any) -> uvicorn.Config:
    """How uvicorn serves an application: its name, or the thing itself."""
    return uvicorn.Config(
        application,
        # It refuses requests whose length can be read in two ways (request smuggling).
        http="httptools",
        lifespan="off",
        log_level="warning",
        access_log=False,
        log_config=None,  # fsbench_web.platform.log_lines has the format
        timeout_graceful_shutdown=GRACE_S,
        proxy_headers=False,  # fsbench_web.serving.asgi wraps it, under any server
    )


def main(descriptor: int) -> None:
    # A short request gets the interpreter sooner while pages compute in other threads.
    sys.setswitchinterval(0.001)
    # Each connection is a file.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    try:
        Server(config_for("fsbench_web.serving.asgi:application")).run(
            [socket.socket(fileno=descriptor)]
        )
    finally:
        # The end of this process waits for its threads, and these for what is rendered for them.
        from fsbench_web.renderings import answers, reading

        answers.end()
        reading.end()


if __name__ == "__main__":
    main(int(sys.argv[1]))
