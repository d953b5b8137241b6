"""Run a command with a PostgreSQL of its own: ``python -m tests.services [--durable] COMMAND...``.

The command finds it in DATABASE_URL; its exit code is this one's. ``--durable`` has every commit
on the disk before it is answered, as a site has, where the tests write without waiting.
"""

import os
import signal
import subprocess
import sys

from tests.services.postgres import postgres
from tests.services.process import ServiceFailed


def main(argv: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    durable = argv[:1] == ["--durable"]
    if durable:
        argv = argv[1:]
    try:
        with postgres(durable) as url:
            # A session of its own: the terminal would interrupt it beside us, and a second
            # interrupt ends the fixtures' ends.
            child = subprocess.Popen(
                argv, env=os.environ | {"DATABASE_URL": url}, start_new_session=True
            )
            try:
                return child.wait()
            except KeyboardInterrupt:
                os.killpg(child.pid, signal.SIGINT)
                return child.wait()
    except ServiceFailed as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
