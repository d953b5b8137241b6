"""The real ASGI server on the tests' database, for tests that need a browser or a live stream."""

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from tests.services.process import Service
from tests.services.redis import accepts, free_port


def database_url() -> str:
    """The address of the database that the tests use, for a process of their own."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    # The host of the tests' PostgreSQL is a parameter (tests/services/postgres.py).
    parameters = os.environ["DATABASE_URL"].partition("?")[2]
    return f"postgresql://{database['USER']}@/{database['NAME']}?{parameters}"


def environment(**extra: str) -> dict[str, str]:
    """The environment of a process that is to work on the tests' database and data folder."""
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": database_url(),
        **extra,
    }


@contextmanager
def asgi_server() -> Iterator[str]:
    """Start uvicorn on a free port; gives its address without a slash at the end."""
    port = free_port()
    service = Service(
        [
            *(sys.executable, "-m", "uvicorn", "fsbench_web.serving.asgi:application"),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--log-level", "warning", "--timeout-graceful-shutdown", "2"),
        ],
        log=Path(settings.DATA_DIR) / "uvicorn.log",
        # Tests play its workers, which send no heartbeat while a busy browser takes its time.
        env=environment(FSBENCH_WORKER_SILENT_AFTER_S="600"),
    )
    try:
        service.wait_until(lambda: accepts(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        service.stop()


def get(address: str, timeout_s: float = 5) -> tuple[int, bytes]:
    """Status and body; status 0 when nothing answers."""
    try:
        with urllib.request.urlopen(address, timeout=timeout_s) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""
