"""The web process: uvicorn on a socket that the supervisor has opened.

The supervisor keeps the socket, so that a restart refuses no connection and no other program can
take the port in between.
"""

import socket
import sys

import uvicorn

# How long open event streams may hold up the end; browsers connect again by themselves.
GRACE_S = 2


def main(descriptor: int) -> None:
    listening = socket.socket(fileno=descriptor)
    config = uvicorn.Config(
        "fsbench_web.asgi:application",
        log_level="warning",
        access_log=False,
        # Its lines go the way of all others (fsbench_web.log_lines).
        log_config=None,
        timeout_graceful_shutdown=GRACE_S,
        # The proxy in front says where a request came from, if there is one (FORWARDED_ALLOW_IPS).
        proxy_headers=True,
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]))
